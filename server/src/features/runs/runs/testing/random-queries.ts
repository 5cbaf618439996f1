import type { Random } from '../../../../testing/random.ts'
import type { RunQuery } from './expected-runs.ts'
import { POOLS, SOURCES } from './many-runs.ts'

/** Values of each parameter, likelier ones first. */
const VALUES = {
  'filter[status]': ['applied', 'errored', 'planning,planned', 'errored,discarded', 'canceled', 'force_canceled'],
  'filter[status_group]': ['final', 'non_final', 'errored', 'needs_approval,stopped', 'finished', 'discardable'],
  'filter[operation]': ['plan_and_apply', 'plan_only', 'destroy,save_plan', 'refresh_only', 'empty_apply', 'destroy'],
  'filter[source]': [...SOURCES, 'tfe-ui,tfe-api', 'terraform'],
  'filter[agent_pool_names]': [POOLS[0], 'POOL-A,pool-b', 'pool-b', 'built-in', 'nowhere'],
  'search[basic]': [
    'release',
    'rel',
    'via UI',
    'UI',
    'r',
    'ärg',
    'Är',
    '100%',
    'a_b',
    'it',
    '1.',
    'straSSe',
    'needle',
    '日本',
    '日',
    '本語',
    '%',
    'run-known7',
    'tedious',
    'te',
    'x-',
    'nothing',
  ],
} as const

type Known = { workspaceNames: readonly string[]; usernames: readonly string[]; now: Date }

/** Parameters of lists of runs: each value alone, and random combinations. */
export function someQueries(random: Random, known: Known, combinations: number): RunQuery[] {
  const parameters = Object.entries(valuesOf(known))
  const alone = parameters.flatMap(([name, values]) => values.map((value) => ({ [name]: value })))
  const together = Array.from({ length: combinations }, () => {
    const chosen = parameters.filter(() => random.oneIn(4))
    return Object.fromEntries(chosen.map(([name, values]) => [name, random.pickSkewed(values)]))
  })
  return [...alone, ...together]
}

function valuesOf({ workspaceNames, usernames, now }: Known): Record<string, readonly [string, ...string[]]> {
  const [first = '', ...others] = workspaceNames
  const year = now.getUTCFullYear()
  const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
  return {
    ...VALUES,
    'filter[workspace_names]': [first, others.slice(0, 2).join(',').toUpperCase(), 'nowhere'],
    'filter[timeframe]': ['year', `${year}`, `${year - 1}`, `${year - 2}`, `${year - 9}`],
    'filter[since]': [daysAgo(1), daysAgo(3), daysAgo(10)],
    'search[user]': ['nobody', ...usernames.map((name) => name.toUpperCase())],
  }
}
