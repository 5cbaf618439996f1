import type { ServerResponse } from 'node:http'

/** An error of the server, which an agent distinguishes from those of a proxy by the media type. */
export function refuseAs(response: ServerResponse, status: number, detail?: string) {
  response
    .writeHead(status, { 'content-type': 'application/vnd.api+json' })
    .end(JSON.stringify({ errors: [{ status: String(status), detail }] }))
}

/** Responds with a document. */
export function sendJson(response: ServerResponse, document: unknown, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}
