import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type ClientOptions = { url: string; token?: string | undefined; hostName: string }

/** The name of a server without HTTPS. Configurations that use it go on working when their server gets HTTPS. */
const PLAIN_NAME = 'groundstate.local'

const LABEL = '(?!..--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
/** The hosts that terraform takes in a `host` block. Labels such as `xn--…` are not among them: it wants them in Unicode. */
const HOST_NAME = new RegExp(String.raw`^${LABEL}(?:\.${LABEL})*(?::\d{1,5})?$`, 'i')

/** Whether configurations may call the server by this name; a port may follow. */
export function isHostName(name: string) {
  return HOST_NAME.test(name)
}

/**
 * A CLI configuration of terraform and tofu for the server at `url`. The `host` block replaces service discovery, which
 * requires HTTPS. So plain HTTP works, and a name without a port fits into the variable `TF_TOKEN_<name>`. Without a
 * token, there is no `credentials` block, and terraform reads that variable.
 */
export function cliConfiguration({ url, token, hostName }: ClientOptions) {
  const api = `${url.replace(/\/+$/, '')}/api/v2/`
  const services = ['tfe.v2', 'tfe.v2.1', 'tfe.v2.2', 'state.v2'].map((name) => `    "${name}" = "${api}"\n`)
  const blocks = [hostName, PLAIN_NAME]
    .filter((name, index, names) => names.indexOf(name) === index)
    .flatMap((name) => [
      `host "${name}" {\n  services = {\n${services.join('')}  }\n}\n`,
      ...(token === undefined ? [] : [`credentials "${name}" {\n  token = "${token}"\n}\n`]),
    ])
  return blocks.join('\n')
}

/**
 * The name of the server for configurations that say none: the host of an HTTPS address, if terraform takes that. The command lines
 * print links that begin with `https://` and this name: they lead to the server where that serves HTTPS. No name would make them
 * right for plain HTTP; there the log of the run has the URL of its page.
 */
export function hostNameFor({ url, hostName }: { url: string; hostName?: string | undefined }) {
  const { protocol, host } = new URL(url)
  return hostName ?? (protocol === 'https:' && isHostName(host) ? host : PLAIN_NAME)
}

/** The token in the variable of terraform for one of the names of the server, such as `TF_TOKEN_groundstate_local`. */
export function tokenFromVariables(env: NodeJS.ProcessEnv, hostName: string) {
  return [hostName, PLAIN_NAME].map((name) => env[tokenVariable(name)]).find((token) => token !== undefined)
}

function tokenVariable(hostName: string) {
  return `TF_TOKEN_${hostName.replaceAll('.', '_').replaceAll('-', '__')}`
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
