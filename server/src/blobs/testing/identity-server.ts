import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { atEnd } from '../../testing/cleanup.ts'
import { listen } from '../../testing/ports.ts'
import type { S3Server } from './s3-server.ts'

/** A response of the next request instead of credentials. */
type Refusal = { status: number; code: string; message: string }

/**
 * Security Token Service (`POST /`) and endpoint of a container (`GET /container`), which issue access keys of a store. `token` is the accepted
 * one, `lifetimeMs` the life of the keys.
 */
export async function createIdentityServer(
  store: S3Server,
  { lifetimeMs = 3_600_000, now = Date.now }: { lifetimeMs?: number; now?: () => number } = {},
) {
  const state = { token: 'first-token', requests: [] as URLSearchParams[], refusals: [] as Refusal[], issued: 0 }

  const issue = () => {
    state.issued += 1
    const id = `temporary-${state.issued}`
    const key = { secretAccessKey: `secret-${state.issued}`, sessionToken: `session/${state.issued}+=` }
    const expiresAt = now() + lifetimeMs
    store.keys.set(id, { ...key, expiresAt })
    return { id, ...key, expiration: new Date(expiresAt).toISOString() }
  }

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await text(request))
    state.requests.push(form)
    const isSts = request.method === 'POST'
    const token = isSts ? form.get('WebIdentityToken') : request.headers.authorization
    const isRight = token === state.token && (!isSts || form.get('Action') === 'AssumeRoleWithWebIdentity')
    const wrong = { status: 400, code: 'InvalidIdentityToken', message: 'No OpenIDConnect provider found' }
    const refusal = state.refusals.shift() ?? (isRight ? undefined : wrong)
    if (refusal) {
      response.writeHead(refusal.status)
      const { code, message } = refusal
      const xml = `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`
      response.end(isSts ? xml : JSON.stringify({ code, message }))
      return
    }
    const { id, secretAccessKey, sessionToken, expiration } = issue()
    const fields = { AccessKeyId: id, SecretAccessKey: secretAccessKey, Expiration: expiration }
    if (!isSts) return void response.end(JSON.stringify({ ...fields, Token: sessionToken }))
    const xml = Object.entries({ ...fields, SessionToken: sessionToken }).map(
      ([name, value]) => `<${name}>${value}</${name}>`,
    )
    response.end(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>` +
        `<Credentials>${xml.join('')}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    )
  }

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(state, { url })
}
