import { readFile, rename, writeFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type RegisteredAgent, WORK_KINDS } from '@groundstate/contract/agent'
import { z } from 'zod'
import { VERSION } from '../build.ts'
import { type EngineSearch, engineName, listEngines } from '../engine/engine.ts'
import { NoServer, register } from '../server/client.ts'
import { type Connection, RequestRejectedError, isTokenRejected } from '../server/connection.ts'
import type { AgentOptions } from '../settings/agent-options.ts'

/** Interval of engine scans, in ms. A server abandons an agent after a minute without a request. */
const ENGINE_SCAN_INTERVAL_MS = 20_000
/** Time limit of the first engine scan, in ms: a hanging engine must not delay the registration. */
const SCAN_TIMEOUT_MS = 5_000
/** Delay before a rejected registration is sent again, in ms: the plan's limit may permit it then. */
const RETRY_DELAY_MS = 10_000

type Input = {
  workDir: string
  /** The last registration in the directory. */
  former: StoredRegistration | undefined
  search: EngineSearch
  /** Whether the agent accepts no runs without an engine. */
  waitsForEngine: boolean
  /** Whether claims are pending, which prove that the agent is online. */
  isClaiming: () => boolean
  signal: AbortSignal
}

type Engines = Awaited<ReturnType<typeof listEngines>>

/** Registers an agent; registers it again after the server has lost it, when its engines change, and while all its slots are busy. */
export function createRegistration(
  connection: Connection,
  options: AgentOptions,
  { workDir, former, search, waitsForEngine, isClaiming, signal }: Input,
) {
  const { token, log, retryDelayMs = RETRY_DELAY_MS, accepts = WORK_KINDS, name, concurrency } = options
  const { serverUrl } = connection
  let known: { agentId: string; engines: string } | undefined
  let pending = 0
  /** The message of the current rejection, which is logged once. */
  let rejection: string | undefined
  let current = start(former)
  const scanning = setInterval(() => void rescanEngines(), options.engineScanIntervalMs ?? ENGINE_SCAN_INTERVAL_MS)

  function start(former?: StoredRegistration) {
    pending += 1
    const response = registerAgent(former).finally(() => (pending -= 1))
    // Awaited by claiming loops, which may all be busy.
    response.catch(() => {})
    return response
  }

  async function registerAgent(former: StoredRegistration | undefined): Promise<RegisteredAgent> {
    const engines = await Promise.race([listEngines(search), delay(SCAN_TIMEOUT_MS, [], { ref: false })])
    const body = {
      name,
      version: VERSION,
      os: platform(),
      arch: arch(),
      concurrency,
      accepts: acceptsWith(engines),
      engines: engines.slice(0, 200),
      downloadsEngines: search.downloads !== undefined,
      ...(former && { agentId: former.agentId, formerTokenId: former.tokenId }),
    }
    for (;;) {
      try {
        const response = await register(connection, token, { ...body, starts: known === undefined }, signal)
        if (known?.agentId !== response.agentId) await store(response)
        if (known === undefined) logStart(response, engines)
        else if (rejection !== undefined) log.info({ agentId: response.agentId }, 'the server accepts this agent again')
        rejection = undefined
        known = { agentId: response.agentId, engines: JSON.stringify(engines) }
        return response
      } catch (error) {
        if (signal.aborted) throw error
        if (isTokenRejected(error)) throw tokenError(error)
        // Another program may temporarily respond in front of a known server.
        const isTransient = error instanceof RequestRejectedError || (error instanceof NoServer && known !== undefined)
        if (!isTransient) throw error
        if (rejection !== error.message) {
          const message = `the server refuses this agent; retrying every ${retryDelayMs / 1_000} s`
          log.warn({ reason: error.message, server: serverUrl }, message)
        }
        rejection = error.message
        await delay(retryDelayMs, undefined, { signal })
      }
    }
  }

  /** Without an engine the server must not count this agent for runs, so that their pages report that no agent takes them. */
  function acceptsWith(engines: Engines) {
    const others = accepts.filter((kind) => kind !== 'plan' && kind !== 'apply')
    return waitsForEngine && engines.length === 0 && others.length > 0 ? others : [...accepts]
  }

  /** Without a stored id the next start is another agent to the server, which is no reason to fail now. */
  async function store({ agentId, tokenId }: RegisteredAgent) {
    const file = fileOf(workDir)
    try {
      await writeFile(
        `${file}.new`,
        `${JSON.stringify({ serverUrl, agentId, tokenId } satisfies StoredRegistration)}\n`,
        { mode: 0o600 },
      )
      await rename(`${file}.new`, file)
    } catch (error) {
      log.warn({ error }, 'the id of this agent could not be stored for its next start')
    }
  }

  function logStart({ agentId, poolName, poolId, serverVersion }: RegisteredAgent, engines: Engines) {
    const fields = { agentId, name, pool: poolName ?? poolId, server: serverUrl, accepts: accepts.join() }
    log.info(fields, `agent ${VERSION} is ready`)
    if (engines.length > 0) logEngines(engines)
    else if (search.downloads !== undefined)
      log.info({}, 'no engine found: versions are downloaded when runs need them')
    else {
      const consequence = waitsForEngine ? ', and no run is accepted without one' : ''
      log.warn({}, `no engine found${consequence}: put terraform or tofu on the PATH, or set --engine-path`)
    }
    if (serverVersion !== undefined && serverVersion.split('.')[0] !== VERSION.split('.')[0]) {
      const message = 'agent and server have different major versions: update the agent'
      log.warn({ agent: VERSION, server: serverVersion }, message)
    }
  }

  function logEngines(engines: Engines) {
    const names = engines.map(({ product, version }) => `${engineName(product)} ${version}`)
    log.info({ engines: names.join(', ') }, 'engines found')
  }

  async function rescanEngines() {
    // A pending registration waits for an unreachable server; one is enough.
    if (pending > 0) return
    const engines = await listEngines(search)
    if (signal.aborted || known === undefined || known.agentId === '') return
    if (pending > 0 || (isClaiming() && known.engines === JSON.stringify(engines))) return
    if (known.engines === '[]' && engines.length > 0) logEngines(engines)
    current = start({ serverUrl, agentId: known.agentId })
  }

  function tokenError(error: RequestRejectedError) {
    return new Error(
      `the server ${serverUrl} responded with ${error.status}: it refuses the token. Create a new one for the agent pool, and start the ` +
        'agent with it: a token ends when it is revoked or its pool deleted',
      { cause: error },
    )
  }

  return {
    /** The current registration; waits while the server is unreachable. Rejects when the agent is refused. */
    current: () => current,
    /** The last known id, if any, regardless of a pending registration. */
    knownId: () => known?.agentId || undefined,
    /** Registers the agent again if the server no longer knows this id; once for several calls. */
    renew(agentId: string) {
      if (known?.agentId !== agentId) return
      known = { agentId: '', engines: '' }
      if (pending === 0) current = start()
    },
    tokenError,
    [Symbol.dispose]: () => clearInterval(scanning),
  }
}

const storedRegistration = z.object({
  serverUrl: z.string(),
  agentId: z.string().min(1).max(100),
  tokenId: z.string().max(100).optional(),
})
type StoredRegistration = z.infer<typeof storedRegistration>

const fileOf = (workDir: string) => join(workDir, 'registration.json')

/** The registration of the last agent in the directory with this server; undefined if there is none or it is unreadable. */
export async function readRegistration(workDir: string, serverUrl: string): Promise<StoredRegistration | undefined> {
  try {
    const former = storedRegistration.parse(JSON.parse(await readFile(fileOf(workDir), 'utf8')))
    return former.serverUrl === serverUrl ? former : undefined
  } catch {
    return undefined
  }
}
