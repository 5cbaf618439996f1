import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentOptions } from '../settings/agent-options.ts'
import { startAgent, temporaryDirectory } from './agent-fixture.ts'
import type { JobInput } from './protocol-job.ts'
import type { ProtocolServer } from './protocol-server.ts'

/** Log line of a run that needed no init. */
export const SAID = 'Initialized as in an earlier run of this configuration.\n'

/** An agent whose engine records its commands. */
export async function startNotedAgent(server: ProtocolServer, overrides: Partial<AgentOptions> = {}) {
  const directory = await temporaryDirectory()
  const notes = join(directory, 'notes')
  const enginePath = join(directory, 'terraform')
  chmodSync(directory, 0o755)
  writeFileSync(notes, '')
  chmodSync(notes, 0o666)
  await writeFile(enginePath, `#!/bin/sh\necho "$1" >> ${notes}\nexec terraform "$@"\n`, { mode: 0o755 })
  const agent = await startAgent(server, { enginePath, ...overrides })
  const inits = () =>
    readFileSync(notes, 'utf8')
      .split('\n')
      .filter((line) => line === 'init').length
  return { ...agent, inits }
}

/** Plans, and returns the number of inits and whether the log reports that none was needed. */
export async function planned(server: ProtocolServer, agent: { inits: () => number }, job: JobInput) {
  const before = agent.inits()
  const plan = server.submit(job)
  const outcome = await plan.finished
  return { plan, outcome, inits: agent.inits() - before, logged: plan.log().includes(SAID) }
}

/** An environment variable of a job. */
export const env = (key: string, value: string) => ({
  key,
  value,
  hcl: false,
  category: 'env' as const,
  sensitive: true,
  level: 'override' as const,
})
