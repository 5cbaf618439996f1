import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ENGINE_HOST } from './cli-config.ts'

/** Override files are merged in the order of their names, so that the last one wins. */
const FILE = 'zzzz_groundstate_override.tf.json'

/**
 * Points the configuration at its workspace on this server. A `cloud` block in an override file replaces whatever `cloud` or
 * `backend` block the configuration has, and does no harm to one that has none.
 */
export async function writeOverride(workingFolder: string, workspace: { organization: string; name: string }) {
  const cloud = {
    hostname: ENGINE_HOST,
    organization: workspace.organization,
    workspaces: { name: workspace.name },
  }
  await writeFile(join(workingFolder, FILE), JSON.stringify({ terraform: { cloud } }))
}
