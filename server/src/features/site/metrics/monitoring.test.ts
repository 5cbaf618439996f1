import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { trackActivity } from '@groundstate/agent/activity'
import { startMonitor } from '@groundstate/agent/agent/monitor'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'

const ROOT = join(import.meta.dirname, '../../../../..')
const DIRECTORY = join(ROOT, 'deploy/monitoring')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const promtool = [...(process.env['PATH'] ?? '').split(delimiter), join(homedir(), 'go/bin')]
  .map((directory) => join(directory, 'promtool'))
  .find((path) => existsSync(path))
if (promtool === undefined)
  process.stderr.write(
    "skipped: promtool is missing, so the alert rules are not tested (Debian's package prometheus)\n",
  )

/** Names of metrics in queries, without the suffixes of the series of histograms. */
function metricsIn(text: string) {
  const names = text.match(/groundstate_[a-z0-9_]+/g) ?? []
  return new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, '')))
}

type Panel = { title: string; targets?: { expr: string }[] }

test('each query of the dashboard and the alerts names metrics that exist', async () => {
  const app = await createTestApp()
  const { text } = await app.request({ url: '/metrics' })
  const activity = trackActivity({
    concurrency: 1,
    kinds: ['plan'],
    isRegistered: () => true,
    isStopping: () => false,
    contactedAt: () => performance.now(),
  })
  using monitor = await startMonitor(activity, { host: '127.0.0.1', port: 0 })
  const ofAgent = await (await fetch(`http://127.0.0.1:${monitor.port}/metrics`)).text()
  const existing = new Set([...`${text}\n${ofAgent}`.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const { panels } = JSON.parse(read('deploy/monitoring/grafana-dashboard.json')) as { panels: Panel[] }
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const rules = read('deploy/monitoring/alerts.yaml')

  const named = metricsIn(`${queries.join('\n')}\n${rules}`)

  expect(queries.length).toBeGreaterThan(30)
  expect([...named].filter((name) => !existing.has(name))).toEqual([])
})

test('each alert has a runbook, and each runbook an alert', () => {
  const page = read('docs/MONITORING.md')
  const alerts = page.slice(page.indexOf('\n## Alerts\n'))
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-')
  const end = alerts.indexOf('\n## ', 1)
  const headings = [...alerts.slice(0, end === -1 ? undefined : end).matchAll(/^### (.+)$/gm)]
  const links = [...read('deploy/monitoring/alerts.yaml').matchAll(/runbook_url: (\S+)#(\S+)/g)]

  // The page that a server shows, at an address to replace: Alertmanager and Grafana know nothing of this repository.
  expect(new Set(links.map(([, address]) => address))).toEqual(
    new Set(['https://groundstate.example.com/docs/monitoring']),
  )
  expect(new Set(links.map(([, , anchor]) => anchor))).toEqual(new Set(headings.map(([, text = '']) => anchorOf(text))))
})

test('each alert has a test', () => {
  const alerts = [...read('deploy/monitoring/alerts.yaml').matchAll(/- alert: (\S+)/g)].map(([, name]) => name)
  const tested = [...read('deploy/monitoring/alerts.test.yaml').matchAll(/- name: (\S+)/g)].map(([, name]) => name)

  expect(tested).toEqual(alerts)
})

describe.skipIf(promtool === undefined)('promtool', () => {
  const run = (...args: string[]) => execFileSync(promtool ?? '', args, { cwd: DIRECTORY, encoding: 'utf8' })

  test('accepts the configuration and the alert rules', () => {
    expect(run('check', 'config', '--syntax-only', 'prometheus.yaml')).toContain('SUCCESS')
    expect(run('check', 'rules', 'alerts.yaml')).toContain('SUCCESS')
  })

  test('finds that the alerts fire when they should', () => {
    expect(run('test', 'rules', 'alerts.test.yaml')).toContain('SUCCESS')
  })
})
