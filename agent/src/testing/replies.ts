import type { ServerResponse } from 'node:http'

/** In the words of the server, which an agent tells from those of a proxy by their type. */
export function refuseAs(response: ServerResponse, status: number, detail?: string) {
  response
    .writeHead(status, { 'content-type': 'application/vnd.api+json' })
    .end(JSON.stringify({ errors: [{ status: String(status), detail }] }))
}

/** Answers with a document. */
export function sendJson(response: ServerResponse, document: unknown, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}
