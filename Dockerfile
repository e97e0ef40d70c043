# coterie with its compiled kernels: docker build -t coterie . && docker run --rm -v "$PWD:/work" coterie demo
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
RUN pip install --no-cache-dir --only-binary=:all: /wheels/*.whl 'openpyxl>=3.1' && rm -r /wheels \
    # Every user may add what `coterie warmup` does not compile.
    && mkdir -m 777 /opt/coterie-kernels && coterie warmup && chmod -R a+rwX /opt/coterie-kernels \
    && useradd --create-home user
USER user
WORKDIR /work
ENTRYPOINT ["coterie"]
CMD ["--help"]
