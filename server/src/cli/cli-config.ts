import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type ClientOptions = { url: string; token?: string | undefined; hostName: string }

/** Host name of a server without HTTPS. Configurations that use it still work when their server gets HTTPS. */
const PLAIN_NAME = 'groundstate.local'

const LABEL = '(?!..--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
/** Hosts that terraform accepts in a `host` block. It rejects punycode such as `xn--…`. */
const HOST_NAME = new RegExp(String.raw`^${LABEL}(?:\.${LABEL})*(?::\d{1,5})?$`, 'i')

/** Whether configurations may use the host name, with an optional port. */
export function isHostName(name: string) {
  return HOST_NAME.test(name)
}

/**
 * A CLI configuration of terraform and tofu for the server at `url`. The `host` block replaces service discovery, which requires HTTPS. Without a
 * token, there is no `credentials` block, and terraform reads `TF_TOKEN_<name>`, which requires a name without a port.
 */
export function cliConfiguration({ url, token, hostName }: ClientOptions) {
  const api = `${url.replace(/\/+$/, '')}/api/v2/`
  const registry = `${url.replace(/\/+$/, '')}/api/registry/v1/`
  const services = [
    ...['tfe.v2', 'tfe.v2.1', 'tfe.v2.2', 'state.v2'].map((name) => `    "${name}" = "${api}"\n`),
    ...['modules', 'providers'].map((name) => `    "${name}.v1" = "${registry}${name}/"\n`),
  ]
  const blocks = [hostName, PLAIN_NAME]
    .filter((name, index, names) => names.indexOf(name) === index)
    .flatMap((name) => [
      `host "${name}" {\n  services = {\n${services.join('')}  }\n}\n`,
      ...(token === undefined ? [] : [`credentials "${name}" {\n  token = "${token}"\n}\n`]),
    ])
  return blocks.join('\n')
}

/**
 * Host name for configurations without one: the host of an HTTPS address, if terraform accepts it. The CLI prints `https://` links with this name,
 * which work only with HTTPS; with plain HTTP, the log of the run has the URL of its page.
 */
export function hostNameFor({ url, hostName }: { url: string; hostName?: string | undefined }) {
  const { protocol, host } = new URL(url)
  return hostName ?? (protocol === 'https:' && isHostName(host) ? host : PLAIN_NAME)
}

/** The token in terraform's variable for one of the names of the server, such as `TF_TOKEN_groundstate_local`. */
export function tokenFromVariables(env: NodeJS.ProcessEnv, hostName: string) {
  const variables = [hostName, PLAIN_NAME].map((name) => name.replaceAll('.', '_').replaceAll('-', '__'))
  return variables.map((name) => env[`TF_TOKEN_${name}`]).find((token) => token !== undefined)
}

/** The user's own CLI configuration; empty if there is none. */
export function ownCliConfiguration(env: NodeJS.ProcessEnv) {
  const path = env['TF_CLI_CONFIG_FILE'] ?? join(homedir(), '.terraformrc')
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
