document.getElementById("sign-in").submit();
