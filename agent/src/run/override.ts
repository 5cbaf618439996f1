import { rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { factsOf } from '../process/confined-file.ts'

/** Override files are merged in the order of their names, so that the last one wins. */
const FILE = 'zzzz_groundstate_override.tf.json'

/**
 * Points the configuration at its workspace on this server. A `cloud` block in an override file replaces whatever `cloud` or
 * `backend` block the configuration has, and does no harm to one that has none. Answers the path of the file.
 */
export function writeOverride(workingDirectory: string, workspace: { organization: string; name: string }) {
  const path = join(workingDirectory, FILE)
  const cloud = {
    hostname: ENGINE_HOST,
    organization: workspace.organization,
    workspaces: { name: workspace.name },
  }
  writeFileSync(path, JSON.stringify({ terraform: { cloud } }))
  return path
}

/** State of the local backend, state and choices of an earlier init. */
const REMAINS = ['terraform.tfstate', 'terraform.tfstate.d', '.terraform/terraform.tfstate', '.terraform/environment']

/**
 * Removes what an archive may carry of a life before this server: init would ask whether to move a local state here, or copy
 * one from the store that it was configured for last, and the workspace that was selected is not this one.
 */
export async function forgetEarlierState(workingDirectory: string) {
  for (const name of REMAINS) {
    const path = join(workingDirectory, name)
    const options = { recursive: true, force: true }
    // However much an archive has put into a directory, no other job waits for it to go.
    if (factsOf(path)?.isDirectory() === true) await rm(path, options)
    else rmSync(path, options)
  }
}

/** The host name under which an engine knows its server. No name that resolves: the services below are all that is used. */
const ENGINE_HOST = 'groundstate.internal'

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
