// The health check of the images: exits with 0 if the server or agent in this container is alive. The command of the container says which of them
// it is, as both may get the same file of settings; its argument is the file with that command. The certificate of a server is not checked: it is
// for other names than the address that is requested.
import { readFileSync } from 'node:fs'
import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'

const { env } = process
const words = wordsOf(process.argv[2] ?? '/proc/1/cmdline')
const program = words.findIndex((word) => /(?:^|\/)groundstate(?:-agent)?(?:\.m?js)?$/.test(word))
const isAgent =
  program < 0
    ? Boolean(env.GROUNDSTATE_AGENT_METRICS_ADDRESS)
    : /-agent(?:\.m?js)?$/.test(words[program]) || words[program + 1] === 'agent'

if (isAgent) {
  const address = settingOf('--metrics-address', 'GROUNDSTATE_AGENT_METRICS_ADDRESS')
  // An agent that listens nowhere can only be seen to run, and it does while its container exists.
  if (address === undefined) process.exit(0)
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d+)$/.exec(address) ?? []
  check(getHttp, host, port)
} else {
  const tls = settingOf('--tls', 'GROUNDSTATE_TLS') ?? 'off'
  const host = settingOf('--host', 'GROUNDSTATE_HOST') ?? '127.0.0.1'
  check(tls === 'off' ? getHttp : getHttps, host, settingOf('--port', 'GROUNDSTATE_PORT') ?? '7777')
}

/** The command of a process, or nothing if it is not readable, as in a container that shares the processes of its host. */
function wordsOf(file) {
  try {
    return readFileSync(file, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** The value of a flag of the command, or else of its variable. */
function settingOf(flag, variable) {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`))
  const given = words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1)
  return given || env[variable] || undefined
}

function check(get, name, port) {
  // A server on all addresses is at the loopback address, too.
  const any = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  const host = name.replace(/^\[(.*)\]$/, '$1')
  const options = { host: any[host] ?? host, port, path: '/healthz', timeout: 4000, rejectUnauthorized: false }
  const request = get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  request.on('timeout', () => request.destroy(new Error('no response')))
  request.on('error', ({ message }) => {
    process.stderr.write(`/healthz: ${message}\n`)
    process.exit(1)
  })
}
