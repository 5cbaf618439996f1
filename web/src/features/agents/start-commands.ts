const FILES = import.meta.glob<string>(
  '../../../../deploy/{image/agent.Dockerfile,systemd/groundstate-agent.service}',
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
)

/** A file of `deploy/` without its comments. */
function fileOf(path: string) {
  const text = FILES[`../../../../deploy/${path}`] ?? ''
  return text.replaceAll(/^#.*\n/gm, '').trimStart()
}

/** `server` is the server's address without a trailing slash. */
type Start = { server: string; token: string }

/** Ways to run an agent, each with its requirements and commands. */
export const START_WAYS = {
  node: {
    text: 'Node.js',
    about: 'On a host with Node.js 20 or later. The agent runs in the foreground.',
    commands: ({ server, token }: Start) => `npm install -g ${packageOf(server)}
GROUNDSTATE_URL=${server} GROUNDSTATE_AGENT_TOKEN=${token} groundstate-agent
`,
  },
  systemd: {
    text: 'systemd',
    about: 'As root, on a host with Node.js 20 or later. The agent runs as a service with a dedicated user.',
    commands: ({ server, token }: Start) => `npm install -g ${packageOf(server)}
useradd --system --home-dir /var/lib/groundstate-agent --shell /usr/sbin/nologin groundstate-agent
install -d -m 0700 /etc/groundstate
(umask 077; printf '%s\\n' '${token}' >/etc/groundstate/agent-token)
cat >/etc/systemd/system/groundstate-agent.service <<'END'
${unitOf(server)}END
systemctl daemon-reload
systemctl enable --now groundstate-agent
`,
  },
  container: {
    text: 'Container',
    about: 'Builds an image in an empty directory. The agent downloads the engines that runs require.',
    commands: ({ server, token }: Start) => `curl -fO ${packageOf(server)}
cat >Dockerfile <<'END'
${fileOf('image/agent.Dockerfile')}END
docker build -t groundstate-agent .
(umask 077; printf '%s\\n' GROUNDSTATE_URL=${server} 'GROUNDSTATE_AGENT_TOKEN=${token}' >agent.env)
docker run -d --init --stop-timeout 660 --env-file agent.env groundstate-agent
`,
  },
} as const

function packageOf(server: string) {
  return `${server}/agent/groundstate-agent.tgz`
}

function unitOf(server: string) {
  return fileOf('systemd/groundstate-agent.service').replace(/^(Environment=GROUNDSTATE_URL=).*$/m, `$1${server}`)
}
