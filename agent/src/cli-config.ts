import { writeFileSync } from 'node:fs'

/** The host name under which an engine knows its server. No name that resolves: the services below are all that is used. */
export const ENGINE_HOST = 'groundstate.internal'

type EngineAccess = {
  /** Base of the public API for what the run does to its own workspace. */
  engineApiUrl: string
  /** The same at the server itself, for what a configuration reads by one of the server's names. */
  apiUrl: string
  token: string
  hostNames: readonly string[]
}

/**
 * Writes the command line configuration of one run. Its `host` blocks name the services, so that the engine makes no
 * discovery request, which would insist on https; the engine's token is good under every name that the server has.
 */
export function writeCliConfig(path: string, { engineApiUrl, apiUrl, token, hostNames }: EngineAccess) {
  const services = servicesAt(apiUrl)
  const names = [...new Set([ENGINE_HOST, new URL(apiUrl).host, ...hostNames])]
  const config = {
    disable_checkpoint: true,
    host: {
      ...Object.fromEntries(names.map((name) => [name, { services }])),
      [ENGINE_HOST]: { services: servicesAt(engineApiUrl) },
    },
    credentials: Object.fromEntries(names.map((name) => [name, { token }])),
  }
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
}

function servicesAt(apiUrl: string) {
  return { 'tfe.v2': apiUrl, 'tfe.v2.1': apiUrl, 'tfe.v2.2': apiUrl, 'state.v2': apiUrl }
}
