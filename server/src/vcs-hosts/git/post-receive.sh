#!/bin/sh
# Reports each push to Groundstate. Save this as hooks/post-receive of the repository on the git server, make it executable and set
#   git config groundstate.url https://groundstate.example.com/webhooks/vcs/…
#   git config groundstate.secret …
# openssl gets the secret as an argument, which other users of the git server can see in its list of processes.
while read -r before after ref; do
  body=$(printf '{"ref":"%s","before":"%s","after":"%s"}' "$(printf %s "$ref" | sed 's/"/\\"/g')" "$before" "$after")
  signature=$(printf %s "$body" | openssl dgst -sha256 -r -hmac "$(git config groundstate.secret)" | cut -d ' ' -f 1)
  curl -fsS -m 10 --retry 3 -d "$body" -H 'Content-Type: application/json' -H "X-Groundstate-Signature: sha256=$signature" \
    -H "X-Groundstate-Delivery: $(openssl rand -hex 16)" "$(git config groundstate.url)" > /dev/null
done
