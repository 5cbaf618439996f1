import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type ClientOptions = { url: string; token?: string | undefined; hostName: string }

/**
 * A CLI configuration of terraform and tofu for the server at `url`. The `host` block replaces service discovery, which
 * requires HTTPS. So plain HTTP works, and a name without a port fits into the variable `TF_TOKEN_<name>`. Without a
 * token, there is no `credentials` block, and that variable is used.
 */
export function cliConfiguration({ url, token, hostName }: ClientOptions) {
  const api = `${url.replace(/\/+$/, '')}/api/v2/`
  const services = ['tfe.v2', 'tfe.v2.1', 'tfe.v2.2', 'state.v2'].map((name) => `    "${name}" = "${api}"\n`)
  const host = `host "${hostName}" {\n  services = {\n${services.join('')}  }\n}\n`
  return token === undefined ? host : `${host}\ncredentials "${hostName}" {\n  token = "${token}"\n}\n`
}

/** The user's own CLI configuration, which is kept; empty when there is none. */
export function ownCliConfiguration(env: NodeJS.ProcessEnv) {
  const path = env['TF_CLI_CONFIG_FILE'] ?? join(homedir(), '.terraformrc')
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
