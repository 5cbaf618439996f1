# An agent in a container. Fetch the package from your server first, into this directory:
#
#   curl -fO https://groundstate.example.com/agent/groundstate-agent.tgz
#   docker build -f agent.Dockerfile -t groundstate-agent .
#
# It contains no engine: the agent downloads the versions that runs require. Without internet access, copy terraform or tofu to
# /usr/local/bin.
FROM node:24-trixie-slim

# git fetches modules and repositories, also through ssh; providers use TLS; bubblewrap is for GROUNDSTATE_SANDBOX=on.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client \
  && rm -rf /var/lib/apt/lists/*

COPY groundstate-agent.tgz /tmp/
RUN npm install -g /tmp/groundstate-agent.tgz && rm /tmp/groundstate-agent.tgz

# Working directories, plugins and downloaded engines. A volume keeps them across containers; only one agent at a time may use it.
RUN mkdir /var/lib/groundstate-agent && chown node:node /var/lib/groundstate-agent
ENV GROUNDSTATE_AGENT_WORK_DIR=/var/lib/groundstate-agent
VOLUME /var/lib/groundstate-agent

# Alive, which is no statement about the server. With GROUNDSTATE_AGENT_METRICS_ADDRESS=7778 it is requested; there is no default, because two
# agents in the network of one host cannot have the same port.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "/usr/local/lib/node_modules/groundstate-agent/health.mjs"]

USER node
ENTRYPOINT ["groundstate-agent"]
