import { setTimeout as pause } from 'node:timers/promises'
import { treeOf } from '../../server/src/testing/processes.ts'
import type { Random } from '../../server/src/testing/random.ts'
import { LINK_FAULTS, type LinkFault } from '../links.ts'
import type { Supervised } from '../supervisor.ts'
import type { Target } from './site.ts'

/** A fault: `at` and `ms` are times in ms, from the start of the plan and its duration. A kill ends with the restart. */
export type Fault = { at: number; target: string } & (
  | { kind: 'kill' }
  | { kind: 'pause'; ms: number }
  | { kind: 'cut'; link: string; fault: LinkFault; ms: number }
)

type Options = {
  count: number
  /** Targets, and the names of their links. */
  targets: Readonly<Record<string, readonly string[]>>
  /** Pauses between the starts of faults, and durations, in ms. */
  gapMs: readonly [number, number]
  durationMs: readonly [number, number]
}

/** The same plan for the same seed. Every kind of fault of every target comes once before any comes again. Faults may overlap. */
export function planFaults(random: Random, { count, targets, gapMs, durationMs }: Options): Fault[] {
  let at = 0
  let deck: Spot[] = []
  return Array.from({ length: count }, () => {
    if (deck.length === 0) deck = spotsOf(targets)
    const [spot] = deck.splice(random.below(deck.length), 1) as [Spot]
    at += Math.round(random.between(...gapMs))
    const ms = Math.round(random.between(...durationMs))
    const { target, kind } = spot
    if (kind === 'kill') return { at, target, kind }
    if (kind === 'pause') return { at, target, kind, ms }
    return { at, target, kind, link: spot.link, fault: random.pick(LINK_FAULTS), ms }
  })
}

type Spot = { target: string } & ({ kind: 'kill' } | { kind: 'pause' } | { kind: 'cut'; link: string })

function spotsOf(targets: Options['targets']): Spot[] {
  return Object.entries(targets).flatMap(([target, links]): Spot[] => [
    { target, kind: 'kill' },
    { target, kind: 'pause' },
    ...links.map((link) => ({ target, kind: 'cut', link }) as const),
  ])
}

export function describeFault(fault: Fault) {
  const { at, target, kind } = fault
  const time = `${(at / 1000).toFixed(1)} s`
  if (kind === 'kill') return `${time} kill ${target}`
  const duration = `for ${(fault.ms / 1000).toFixed(1)} s`
  return kind === 'pause'
    ? `${time} pause ${target} ${duration}`
    : `${time} ${fault.fault} ${target}-${fault.link} ${duration}`
}

/** Lets the faults of a plan happen; resolves when the last one has ended. */
export async function inject(
  plan: readonly Fault[],
  targets: Readonly<Record<string, Target>>,
  supervised: Readonly<Record<string, Supervised>>,
) {
  const startedAt = Date.now()
  // Faults of a link or process may overlap: the last one to end heals it.
  const active = new Map<string, number>()
  const during = async (key: string, ms: number, heal: () => void) => {
    active.set(key, (active.get(key) ?? 0) + 1)
    await pause(ms)
    active.set(key, (active.get(key) ?? 1) - 1)
    if (active.get(key) === 0) heal()
  }

  await Promise.all(
    plan.map(async (fault) => {
      await pause(fault.at - (Date.now() - startedAt))
      const { target: name } = fault
      const target = targets[name] as Target
      if (fault.kind === 'kill') return supervised[name]?.kill()
      if (fault.kind === 'cut') {
        const link = target.links[fault.link]
        link?.cut(fault.fault)
        return during(`${name} ${fault.link}`, fault.ms, () => link?.heal())
      }
      const pids = await stopTree(target.process.pid)
      // A process that was killed meanwhile has been replaced, and its descendants may still be stopped.
      await during(name, fault.ms, () => {})
      return signal(pids, 'SIGCONT')
    }),
  )
}

/** Suspends a process and its descendants at arbitrary instructions, and returns them. */
async function stopTree(pid: number) {
  signal([pid], 'SIGSTOP')
  const pids = await treeOf(pid)
  signal(pids, 'SIGSTOP')
  return pids
}

function signal(pids: readonly number[], name: NodeJS.Signals) {
  for (const pid of pids) {
    try {
      if (pid > 1) process.kill(pid, name)
    } catch {
      // It has ended.
    }
  }
}
