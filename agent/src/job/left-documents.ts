import { type EngineSearch, findEngine } from '../engine/engine.ts'
import { bareEnvironment } from '../engine/environment.ts'
import type { RunDirectory } from '../isolation/run-directory.ts'
import type { Journal } from '../results/journal.ts'
import type { AgentContext, EngineSite } from '../run/context.ts'
import { deliverDocuments, noDocuments } from '../run/documents.ts'
import { planSchemas } from '../run/provider-schemas.ts'
import { type JobClient, LeaseLost } from '../server/job-client.ts'

type Left = { agent: AgentContext; search: EngineSearch; signal: AbortSignal }

/**
 * Delivers the documents pending when an agent was killed, from the directory kept with the plan. The server is notified that
 * there are none where an apply had begun there, since the directory goes with that, and where they can't be made. Without the
 * variables of the workspace, which are not on the disk any more, an engine can't read a plan that it has encrypted with them.
 * Rejects when the signal aborts before the server knows.
 */
export async function deliverLeftDocuments(client: JobClient, journal: Journal, left: Left) {
  const { job } = journal.facts()
  // The first thing to be done: an apply that comes meanwhile shares the directory.
  const making = left.agent.directories.makeDocuments(job, async (directory) => {
    await requeue()
    await makeThere(client, journal, { ...left, directory })
  })
  try {
    if (making !== undefined) return await making
    await requeue()
    await client.sendDocuments(noDocuments('its agent was killed before it had made it'), left.signal)
  } catch (error) {
    // A plan whose outcome did not arrive owes nothing, and neither does one whose documents did.
    if (!(error instanceof LeaseLost)) throw error
  }

  /** The server heeds it for a plan whose outcome it has not got. */
  async function requeue() {
    await client.release(left.signal)
  }
}

async function makeThere(
  client: JobClient,
  journal: Journal,
  { directory, ...left }: Left & { directory: RunDirectory },
) {
  const { signal } = left
  try {
    const site = await siteOf(client, journal, { ...left, directory })
    await deliverDocuments(site, await planSchemas(site), signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof LeaseLost) throw error
    await client.sendDocuments(noDocuments('its agent was killed, and could not make it later', error), signal)
  }
}

async function siteOf(
  client: JobClient,
  journal: Journal,
  { directory, agent, search, signal }: Left & { directory: RunDirectory },
): Promise<EngineSite> {
  const { engine: wanted, workingDirectory } = journal.facts()
  if (wanted === undefined || workingDirectory === undefined) throw new Error('it has not noted how')
  const { engine } = await findEngine({ ...wanted, required: true }, search)
  await agent.confinement.prepare(directory)
  const environment = bareEnvironment(directory, agent)
  return {
    agent,
    client,
    engine,
    directory,
    workingDirectory,
    job: {},
    environment: { run: environment, quiet: environment },
    stop: { interrupt: signal, kill: signal, graceMs: () => 0 },
    outbox: undefined,
    alive: signal,
  }
}
