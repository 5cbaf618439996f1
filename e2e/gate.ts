import { createServer } from 'node:http'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { listen } from '../server/src/testing/ports.ts'

/** Responds to requests for a state once it is open. `reached` resolves with the first request. */
export type Gate = { url: string; open: () => void; reached: Promise<void> }

/** A plan that reads the state behind the gate runs until the gate opens. */
export async function createGate(host = '127.0.0.1'): Promise<Gate> {
  const opened = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const server = createServer((_, response) => {
    reached.resolve()
    const state = { version: 4, terraform_version: '1.11.4', serial: 1, lineage: 'gate', outputs: {}, resources: [] }
    void opened.promise.then(() => response.end(JSON.stringify(state)))
  })
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://${host}:${await listen(server, host)}/`, open: opened.resolve, reached: reached.promise }
}

/** A provisioner that logs "at the gate" and blocks an apply until the file exists. */
export function gatedProvisioner(file: string) {
  return `provisioner "local-exec" { command = "echo at the gate; while [ ! -e ${file} ]; do sleep 0.1; done; echo through" }`
}

/** A data source that blocks a plan at the gate. */
export function gatedPlan({ url }: Gate) {
  return `
data "terraform_remote_state" "gate" {
  backend = "http"
  config  = { address = "${url}" }
}
`
}
