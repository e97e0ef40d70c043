# coterie with its compiled kernels, the application and the API:
#   docker build -t coterie .
#   docker run --rm -v "$PWD:/work" coterie demo
#   docker run --rm -p 8000:8000 -v "$PWD:/work" -e COTERIE_TOKEN coterie serve films.model --host 0.0.0.0
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
ENV NUMBA_CACHE_DIR=/opt/coterie-kernels \
    COTERIE_STATE=/work/.coterie \
    PYTHONDONTWRITEBYTECODE=1
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --only-binary=:all: "$(ls /wheels/*.whl)[app,excel]" && rm -r /wheels \
    # Every user may add what `coterie warmup` does not compile.
    && mkdir -m 777 /opt/coterie-kernels && coterie warmup && chmod -R a+rwX /opt/coterie-kernels \
    && useradd --create-home --uid 10001 user
USER 10001
WORKDIR /work
EXPOSE 8000
# Of `coterie serve` on port 8000; other commands end before it matters.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/livez', timeout=2)"]
ENTRYPOINT ["coterie"]
CMD ["--help"]
