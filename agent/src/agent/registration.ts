import { setTimeout as delay } from 'node:timers/promises'
import type { RegisterAgent, RegisteredAgent } from '@groundstate/contract/agent'
import { type EngineSearch, engineName, listEngines } from '../engine/engine.ts'
import type { AgentLog } from '../log.ts'
import { NoServer, register } from '../server/client.ts'
import { type Connection, RequestRejectedError, isTokenRefused } from '../server/connection.ts'

/** Interval of engine scans, in ms. A server abandons an agent after a minute without a request. */
const ENGINE_SCAN_INTERVAL_MS = 20_000
/** An engine that does not say its version must not keep the agent from work, in ms. */
const ENGINES_MS = 5_000
/** An agent that the server refuses tries again after this time, in ms: a limit of the plan may have room then. */
const RETRY_DELAY_MS = 10_000

type Input = {
  token: string
  facts: Omit<RegisterAgent, 'engines' | 'downloadsEngines' | 'agentId' | 'starts'>
  /** The id that the agent had before it was started. */
  formerId?: string | undefined
  /** Keeps the id that it has now for its next start. */
  keepId: (agentId: string) => Promise<void>
  search: EngineSearch
  /** Whether it takes no runs without an engine. */
  waitsForEngine: boolean
  log: AgentLog
  /** Whether it asks for work. One that does not has to show by itself that it is there. */
  isClaiming: () => boolean
  engineScanIntervalMs?: number | undefined
  retryDelayMs?: number | undefined
  signal: AbortSignal
}

/** The introduction of an agent to its server. */
type Registration = Disposable & {
  /** The one that holds; waits as long as the server is away. Rejects when the agent is refused. */
  current: () => Promise<RegisteredAgent>
  /** The id that the server knew last, if any, whatever becomes of an introduction that is under way. */
  knownId: () => string | undefined
  /** The server no longer knows the agent of that id: it is introduced again, once however many say so. */
  renew: (agentId: string) => void
  /** Hint for a rejected token. */
  refusal: (error: RequestRejectedError) => Error
}

/** Introduces an agent, and does so again when it is forgotten, when other engines have appeared, and while all its slots work. */
export function createRegistration(connection: Connection, input: Input): Registration {
  const {
    token,
    facts,
    search,
    waitsForEngine,
    log,
    isClaiming,
    engineScanIntervalMs = ENGINE_SCAN_INTERVAL_MS,
    retryDelayMs = RETRY_DELAY_MS,
    signal,
  } = input
  let known: { agentId: string; engines: string } | undefined
  const noEngine = `no engine found${waitsForEngine ? ', and no run is taken without one' : ''}: put terraform or tofu on the PATH, or name one with --engine-path`
  let underWay = 0
  /** Why the server refuses it, as long as it does: said once. */
  let refusedFor: string | undefined
  let current = announce(input.formerId)
  const looking = setInterval(() => void rescanEngines(), engineScanIntervalMs)

  function announce(agentId?: string) {
    underWay += 1
    const response = introduce(agentId).finally(() => (underWay -= 1))
    // Claiming loops check it, but all of them may be busy.
    response.catch(() => {})
    return response
  }

  async function introduce(agentId: string | undefined): Promise<RegisteredAgent> {
    const engines = await Promise.race([listEngines(search), delay(ENGINES_MS, [], { ref: false })])
    for (;;) {
      try {
        const body = {
          ...facts,
          accepts: acceptsWith(engines),
          engines: engines.slice(0, 200),
          downloadsEngines: search.downloads !== undefined,
          starts: known === undefined,
          ...(agentId !== undefined && { agentId }),
        }
        const response = await register(connection, token, body, signal)
        if (known?.agentId !== response.agentId) await input.keepId(response.agentId)
        if (known === undefined) greet(response, engines)
        else if (refusedFor !== undefined) log.info({ agentId: response.agentId }, 'the server takes this agent again')
        refusedFor = undefined
        known = { agentId: response.agentId, engines: JSON.stringify(engines) }
        return response
      } catch (error) {
        if (signal.aborted) throw error
        if (isTokenRefused(error)) throw refusal(error)
        // In front of a server that was there before, something else answers for a while.
        const passes = error instanceof RequestRejectedError || (error instanceof NoServer && known !== undefined)
        if (!passes) throw error
        if (refusedFor !== error.message) {
          log.warn(
            { reason: error.message, server: connection.serverUrl },
            `the server refuses this agent; it tries again every ${retryDelayMs / 1_000} s`,
          )
        }
        refusedFor = error.message
        await delay(retryDelayMs, undefined, { signal })
      }
    }
  }

  /** Without an engine the server must not count on it for runs: their pages then say that no agent takes them. */
  function acceptsWith(engines: Engines) {
    const others = facts.accepts.filter((kind) => kind === 'task')
    return waitsForEngine && engines.length === 0 && others.length > 0 ? others : facts.accepts
  }

  function greet({ agentId, poolName, poolId, serverVersion }: RegisteredAgent, engines: Engines) {
    log.info(
      {
        agentId,
        name: facts.name,
        pool: poolName ?? poolId,
        server: connection.serverUrl,
        accepts: facts.accepts.join(),
      },
      `agent ${facts.version} is ready`,
    )
    if (engines.length > 0) sayEngines(engines)
    else if (search.downloads === undefined) log.warn({}, noEngine)
    else log.info({}, 'no engine found: versions are downloaded as runs need them')
    if (serverVersion !== undefined && serverVersion.split('.')[0] !== facts.version.split('.')[0]) {
      log.warn(
        { agent: facts.version, server: serverVersion },
        'agent and server are of different generations: update the agent',
      )
    }
  }

  function sayEngines(engines: Engines) {
    const names = engines.map(({ product, version }) => `${engineName(product)} ${version}`)
    log.info({ engines: names.join(', ') }, 'engines found')
  }

  async function rescanEngines() {
    // As long as the server is away an introduction waits for it; one is enough.
    if (underWay > 0) return
    const engines = await listEngines(search)
    if (signal.aborted || known === undefined || known.agentId === '') return
    if (underWay > 0 || (isClaiming() && known.engines === JSON.stringify(engines))) return
    if (known.engines === '[]' && engines.length > 0) sayEngines(engines)
    current = announce(known.agentId)
  }

  function refusal(error: RequestRejectedError) {
    return new Error(
      `the server ${connection.serverUrl} answered ${error.status}: it refuses the token. ` +
        'Make a new one for the agent pool, and start the agent with it: a token ends when it is revoked or its pool deleted',
      { cause: error },
    )
  }

  return {
    current: () => current,
    knownId: () => (known?.agentId === '' ? undefined : known?.agentId),
    renew(agentId) {
      if (known?.agentId === agentId) {
        known = { agentId: '', engines: '' }
        // One that is under way introduces it as well.
        if (underWay === 0) current = announce()
      }
    },
    refusal,
    [Symbol.dispose]: () => clearInterval(looking),
  }
}

type Engines = Awaited<ReturnType<typeof listEngines>>
