import { createHash } from 'node:crypto'
import { access, chmod, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isClaimed } from '@groundstate/agent/work-dir'
import type { Config } from './config.ts'
import { makeFolder } from './folder.ts'

/** Beside root's data folder, which no user of a run may enter. */
const SYSTEM_AGENTS = '/var/lib/groundstate-agents'

/** A file in such a folder that holds the path of the data folder it belongs to. */
const OWNER = 'data-folder'

/** The working folder of the built-in agent; creates nothing. */
export async function agentFolder(config: Pick<Config, 'dataDir' | 'isolation'>, systemAgents = SYSTEM_AGENTS) {
  if (process.geteuid?.() !== 0 || config.isolation === 'off') return join(config.dataDir, 'agent')
  const dataDir = await realpath(config.dataDir).catch(() => config.dataDir)
  // Short: the sockets of plugins lie below, and their paths are limited.
  return join(systemAgents, createHash('sha256').update(dataDir).digest('hex').slice(0, 10))
}

/**
 * Makes the working folder of the built-in agent. As root it is outside of the data folder, which stays closed to the users of
 * runs. The folders of servers whose data folder is gone are removed.
 */
export async function openAgentFolder(config: Pick<Config, 'dataDir' | 'isolation'>, systemAgents = SYSTEM_AGENTS) {
  const folder = await agentFolder(config, systemAgents)
  await makeFolder(folder, 0o700)
  if (!folder.startsWith(systemAgents)) return folder
  await chmod(systemAgents, 0o711)
  await writeFile(join(folder, OWNER), `${await realpath(config.dataDir)}\n`)
  await removeAbandoned(systemAgents)
  return folder
}

async function removeAbandoned(systemAgents: string) {
  for (const name of await readdir(systemAgents)) {
    const folder = join(systemAgents, name)
    const dataDir = (await readFile(join(folder, OWNER), 'utf8').catch(() => '')).trim()
    if (dataDir === '' || (await exists(dataDir)) || (await exists(join(folder, 'errored-states')))) continue
    if (!(await isClaimed(folder))) await rm(folder, { recursive: true, force: true })
  }
}

async function exists(path: string) {
  return access(path).then(
    () => true,
    () => false,
  )
}
