import { RuleTester } from 'oxlint/plugins-dev'
import { describe, test } from 'vitest'
import plugin from './plugin.ts'

RuleTester.describe = describe
RuleTester.it = test

const filename = 'server/src/features/runs/runs/store.ts'
const listed = /a list of run statuses/
const allowed = (code: string, path = filename) => ({ code, filename: path })
const refused = (code: string) => ({ code, filename, errors: [{ message: listed }] })

new RuleTester().run('run-statuses', plugin.rules['run-statuses'], {
  valid: [
    allowed(`const ended = run.status === 'applied'`),
    allowed(`const one = sql\`select from runs where status = 'errored'\``),
    allowed(`const both = status === 'errored' && before === 'confirmed'`),
    // Statuses of plans, states, configuration versions and tasks.
    allowed(`const PHASES = ['pending', 'queued', 'running', 'finished', 'errored', 'canceled', 'unreachable']`),
    allowed(`const listed = z.enum(['pending', 'finalized', 'discarded'])`),
    allowed(`type Vote = 'pending' | 'running' | 'passed' | 'failed' | 'errored' | 'canceled'`),
    allowed(`const isOpen = version.status === 'pending' || version.status === 'fetching'`),
    allowed(`const text = sql\`update x set status = 'a' where status in ('pending', 'running')\``),
    // Events of a run.
    allowed(`const EVENTS = { confirmed: 'apply', canceled: 'cancel', force_executed: 'force_execute' }`),
    allowed(`const [ended] = ['applied', 'errored']`, 'server/src/features/runs/runs/routes.test.ts'),
    allowed(`const STATUSES = ['applied', 'errored']`, 'server/src/features/runs/runs/testing/many-runs.ts'),
    allowed(`const ENDED = ['applied', 'errored']`, 'contract/src/run-status.ts'),
  ],
  invalid: [
    refused(`const ENDED = new Set(['applied', 'errored', 'canceled'])`),
    refused(`const ended = z.enum(['canceled', 'errored'])`),
    refused(`const OVER = ['applied', 'planned', 'none']`),
    refused(`type Ended = 'applied' | 'discarded'`),
    refused(`const LABELS = { applied: 'Applied', discarded: 'Discarded', errored: 'Errored' }`),
    refused(`const isUnderWay = run.status === 'planning' || run.status === 'applying'`),
    refused(`const goesOn = run.status !== 'applied' && run.status !== 'errored' && isOpen`),
    refused(`function f() { switch (status) { case 'planned': case 'post_plan_completed': return 1 } }`),
    refused(`const rows = sql\`select from runs where status in ('planning', 'applying') and \${x}\``),
    refused(`const up = \`create index on runs (id) where status not in ('applied',\n  'errored')\``),
    refused(`const query = { 'filter[status]': 'planned,applied' }`),
  ],
})
