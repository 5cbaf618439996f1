// The health check of the image: exits with 0 if the server or agent in this container is alive. Its own certificate is not checked, as it is for
// other names than the loopback address.
import { get as getHttp } from 'node:http'
import { get as getHttps } from 'node:https'

const { GROUNDSTATE_AGENT_METRICS_ADDRESS: agent = '', GROUNDSTATE_TLS: tls = 'off' } = process.env
const port = agent === '' ? (process.env.GROUNDSTATE_PORT ?? '7777') : agent.replace(/^.*:/, '')
const options = { host: '127.0.0.1', port, path: '/healthz', timeout: 4000, rejectUnauthorized: false }
const request = (agent !== '' || tls === 'off' ? getHttp : getHttps)(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
})
request.on('timeout', () => request.destroy(new Error('no response')))
request.on('error', ({ message }) => {
  process.stderr.write(`/healthz: ${message}\n`)
  process.exit(1)
})
