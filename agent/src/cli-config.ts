import { writeFile } from 'node:fs/promises'

/** The host name under which an engine knows its server. No name that resolves: the services below are all that is used. */
export const ENGINE_HOST = 'groundstate.internal'

/**
 * Writes the command line configuration of one run. Its `host` block names the services, so that the engine makes no
 * discovery request, which would insist on https; the job's token is good for this host and for the server's public name.
 */
export async function writeCliConfig(path: string, { apiUrl, token }: { apiUrl: string; token: string }) {
  const services = { 'tfe.v2': apiUrl, 'tfe.v2.1': apiUrl, 'tfe.v2.2': apiUrl, 'state.v2': apiUrl }
  const publicHost = new URL(apiUrl).host
  const config = {
    disable_checkpoint: true,
    host: { [ENGINE_HOST]: { services } },
    credentials: { [ENGINE_HOST]: { token }, [publicHost]: { token } },
  }
  await writeFile(path, JSON.stringify(config), { mode: 0o600 })
}
