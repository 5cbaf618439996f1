import { expect, test } from 'vitest'
import { type WorkspaceReport, commentMarker, pullRequestComment } from './comment.ts'

const HTML = { maxLength: 60_000, rendersHtml: true }
const change = (address: string, actions = ['create']) => ({ address, mode: 'managed', actions, digest: '' }) as const

function report({ name = 'network', changes = [], ...members }: Record<string, unknown> & { name?: string } = {}) {
  const counts = { imports: 0, additions: 1, changes: 0, destructions: 0 }
  const listed = changes as Exclude<WorkspaceReport['plan'], null | 'unread'>['changes']
  return {
    workspace_id: `ws-${name}`,
    workspace_name: name,
    organization_name: 'acme',
    commit_sha: '1234567890'.repeat(4),
    kind: 'plan',
    repository_id: 'repo-1',
    identifier: 'acme/network',
    reason: null,
    detail: null,
    version: 1,
    sent: null,
    run: {
      id: `run-${name}`,
      status: 'planned_and_finished',
      plan_only: true,
      has_changes: true,
      fetches: false,
      has_failed_stage: false,
      plan: { status: 'finished', counts },
      apply: { status: 'unreachable', counts: null },
    },
    plan: { changes: listed, total: listed.length },
    review: null,
    ...members,
  } as WorkspaceReport
}

const commentOf = (reports: readonly WorkspaceReport[], format = HTML) =>
  pullRequestComment({ baseUrl: 'https://tf.example', reports, format, marker: commentMarker('acme', 'comment-1') }) ??
  ''

test('changes are grouped by action', () => {
  const changes = [
    change('aws_a.created'),
    change('aws_b.replaced', ['delete', 'create']),
    change('aws_c.gone', ['delete']),
    change('aws_d.forgotten', ['forget']),
    { ...change('aws_e.moved', ['no-op']), previousAddress: 'aws_e.old' },
    { ...change('aws_f.imported', ['no-op']), isImport: true },
    { ...change('aws_g.both', ['update']), isImport: true },
    { ...change('data.x.read', ['read']), mode: 'data' },
    { ...change('output.ip', ['update']), mode: 'output' },
  ]

  const text = commentOf([report({ changes })])

  expect(text).toBe(
    [
      '[//]: # (groundstate/acme/comment-1)\n',
      '**Plans** (`1234567`)\n',
      '| Workspace | Plan |',
      '| --- | --- |',
      '| [`network`](https://tf.example/app/acme/workspaces/network/runs/run-network) | ✅ 1 to add, 0 to change, 0 to destroy |\n',
      '<details><summary>Changes in network</summary>\n',
      '```text',
      'create\n  aws_a.created',
      'update\n  aws_g.both (imported)',
      'replace\n  aws_b.replaced',
      'delete\n  aws_c.gone',
      'import\n  aws_f.imported',
      'move\n  aws_e.moved (from aws_e.old)',
      'forget\n  aws_d.forgotten',
      'outputs\n  ip',
      '```\n',
      '</details>',
    ].join('\n'),
  )
})

test.each(['a["x`y"]', 'a["```"]\n```\n@mona <script>', 'a["|"]</details>', 'a["\u202e"]'])(
  'the address %j stays within its code',
  (address) => {
    const text = commentOf([report({ changes: [change(address)] })])

    const [, fence = '', code = '', rest] = /\n(`{3,})text\n(.*?)\n\1\n(.*)$/s.exec(text) ?? []
    expect(code.split('\n')).toHaveLength(2)
    expect(code).not.toMatch(/\p{Cf}/u)
    expect(code).not.toContain(fence)
    expect(rest).toBe('\n</details>')
  },
)

test('conflicts are named, and skipped workspaces share a line', () => {
  const conflict = report({ run: null, reason: 'merge-conflict', detail: 'a.tf, `b`|@mona.tf' })
  const skipped = ['dns', 'web'].map((name) => report({ name, run: null, reason: 'no-matching-files', detail: 'x/' }))

  const text = commentOf([conflict, ...skipped])

  expect(text).toContain('conflicts with its base, so nothing was planned:\n\n- `` a.tf, `b`|@mona.tf ``')
  expect(text).toContain('Skipped, since no changed file concerns them: `dns`, `web`')
})

test('a line is not cut within a character', () => {
  const lines = ['', 'x'].map((start) => change(`${start}${'😀'.repeat(400)}`))

  const text = commentOf([report({ changes: lines })])

  expect(text.isWellFormed()).toBe(true)
})

test('there is no comment without a plan that has ended', () => {
  const skipped = report({ run: null, reason: 'no-matching-files' })
  const planning = report()
  Object.assign(planning.run ?? {}, { status: 'planning', plan: { status: 'running', counts: null } })

  expect(commentOf([skipped, planning])).toBe('')
})

test('a merge is reported with the differences from the reviewed plan', () => {
  const differences = [
    { address: 'aws_a.x', kind: 'changed', 'reviewed-actions': ['update'], 'planned-actions': ['delete', 'create'] },
    { address: 'aws_b.y', kind: 'added', 'reviewed-actions': [], 'planned-actions': ['create'] },
  ]
  const merged = report({ kind: 'run', review: { result: 'different', differences, difference_count: 5 } })
  Object.assign(merged.run ?? {}, { status: 'planned' })

  const text = commentOf([merged])

  expect(text).toContain('| ⏳ 1 to add, 0 to change, 0 to destroy; waiting for confirmation | **different** |')
  expect(text).toContain(
    'aws_a.x: reviewed update, planned delete and create\naws_b.y: reviewed nothing, planned create',
  )
  expect(text).toContain('and 3 more: [see the run](')
})

test('hosts that show HTML as text get none', () => {
  const text = commentOf([report({ changes: [change('aws_a.b')] })], { maxLength: 32_000, rendersHtml: false })

  expect(text).not.toMatch(/[<>]/)
  expect(text).toContain('**Changes in network**\n\n```text\ncreate\n  aws_a.b\n```')
})

test.each([
  [1, 20_000],
  [40, 500],
  [2000, 3],
])('%i workspaces with %i changes each fit into the limit', (workspaces, count) => {
  const changes = Array.from({ length: count }, (_, index) => change(`module.very_long_name.aws_instance.x[${index}]`))
  const reports = Array.from({ length: workspaces }, (_, index) => report({ name: `network-${index}`, changes }))

  const text = commentOf(reports)

  expect(text.length).toBeLessThanOrEqual(HTML.maxLength)
  expect(text.length).toBeGreaterThan(HTML.maxLength / 2)
  expect(text).toMatch(/and \d+ more|in \d+ more workspaces/)
  expect(text.match(/<details>/g)?.length).toBe(text.match(/<\/details>/g)?.length)
})
