import { createHash } from 'node:crypto'
import { chmod, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isClaimed } from '@groundstate/agent/isolation/work-dir'
import type { Config } from './config.ts'
import { exists, makeDataDirectory, makeDirectory } from './directory.ts'

/** Parent of root's working directories of agents. It is outside of the data directory, which users of runs must not enter. */
const SYSTEM_AGENTS = '/var/lib/groundstate-agents'

/** File in such a directory with the path of the data directory it belongs to. */
const OWNER = 'data-directory'

/** Path of the built-in agent's working directory. */
export async function agentDirectory(config: Pick<Config, 'dataDir' | 'isolation'>, systemAgents = SYSTEM_AGENTS) {
  if (process.geteuid?.() !== 0 || config.isolation === 'off') return join(config.dataDir, 'agent')
  const dataDir = await realpath(config.dataDir).catch(() => config.dataDir)
  // Short, since it contains the sockets of plugins, and their paths are limited.
  return join(systemAgents, createHash('sha256').update(dataDir).digest('hex').slice(0, 10))
}

/** Creates the built-in agent's working directory, and removes those of servers whose data directory no longer exists. */
export async function openAgentDirectory(config: Pick<Config, 'dataDir' | 'isolation'>, systemAgents = SYSTEM_AGENTS) {
  // First, since the name of the other directory depends on its real path.
  await makeDataDirectory(config.dataDir)
  const directory = await agentDirectory(config, systemAgents)
  const isOutside = directory.startsWith(systemAgents)
  const advice = isOutside ? 'with GROUNDSTATE_ISOLATION=off the agent uses the data directory' : undefined
  await makeDirectory(directory, 0o700, advice)
  if (!isOutside) return directory
  await chmod(systemAgents, 0o711)
  await writeFile(join(directory, OWNER), `${await realpath(config.dataDir)}\n`)
  await removeAbandoned(systemAgents)
  return directory
}

async function removeAbandoned(systemAgents: string) {
  for (const name of await readdir(systemAgents)) {
    const directory = join(systemAgents, name)
    const dataDir = (await readFile(join(directory, OWNER), 'utf8').catch(() => '')).trim()
    if (dataDir === '' || (await exists(dataDir)) || (await exists(join(directory, 'errored-states')))) continue
    if (!(await isClaimed(directory))) await rm(directory, { recursive: true, force: true })
  }
}
