import { writeFile } from 'node:fs/promises'

/** The host name under which an engine knows its server. No name that resolves: the services below are all that is used. */
export const ENGINE_HOST = 'groundstate.internal'

/**
 * Writes the command line configuration of one run. Its `host` blocks name the services, so that the engine makes no
 * discovery request, which would insist on https; the engine's token is good under every name that the server has.
 */
export async function writeCliConfig(
  path: string,
  { apiUrl, token, hostNames }: { apiUrl: string; token: string; hostNames: readonly string[] },
) {
  const services = { 'tfe.v2': apiUrl, 'tfe.v2.1': apiUrl, 'tfe.v2.2': apiUrl, 'state.v2': apiUrl }
  const names = [...new Set([ENGINE_HOST, new URL(apiUrl).host, ...hostNames])]
  const config = {
    disable_checkpoint: true,
    host: Object.fromEntries(names.map((name) => [name, { services }])),
    credentials: Object.fromEntries(names.map((name) => [name, { token }])),
  }
  await writeFile(path, JSON.stringify(config), { mode: 0o600 })
}
