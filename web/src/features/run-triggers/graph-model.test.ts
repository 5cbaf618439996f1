import { expect, test } from 'vitest'
import { MAX_NODES, curve, drawnGraph } from './graph-model.ts'

function graph(names: readonly string[], edges: readonly (readonly [from: string, to: string])[]) {
  return {
    workspaces: names.map((name) => ({
      id: name,
      name,
      'project-id': name.startsWith('eu') ? 'prj-eu' : 'prj-us',
      'project-name': '',
      'auto-apply-run-trigger': false,
      'trigger-only-on-output-change': false,
      locked: false,
      'latest-change-at': '',
      'current-run': null,
      cycle: null,
    })),
    triggers: edges.map(([from, to]) => ({
      id: `${from}>${to}`,
      'sourceable-id': from,
      'workspace-id': to,
      'last-fired-at': null,
      cycle: null,
    })),
    truncated: false,
  }
}

const CHAIN = graph(
  ['network', 'dns', 'web', 'eu-web'],
  [
    ['network', 'dns'],
    ['dns', 'web'],
    ['web', 'eu-web'],
  ],
)

test('without a filter everything is drawn', () => {
  const { workspaces, triggers, total } = drawnGraph(CHAIN, {})

  expect(workspaces.every(({ isMatch }) => isMatch)).toBe(true)
  expect(triggers).toHaveLength(3)
  expect(total).toBe(4)
})

test('a search draws the matches with their neighbours, and only the triggers between these', () => {
  const { workspaces, triggers, matching } = drawnGraph(CHAIN, { q: 'DNS' })

  expect(workspaces.map(({ name, isMatch }) => [name, isMatch])).toEqual([
    ['network', false],
    ['dns', true],
    ['web', false],
  ])
  expect(triggers.map(({ id }) => id)).toEqual(['network>dns', 'dns>web'])
  expect(matching).toBe(1)
})

test('a project is a filter too', () => {
  const { workspaces } = drawnGraph(CHAIN, { project: 'prj-eu' })

  expect(workspaces.map(({ name }) => name)).toEqual(['web', 'eu-web'])
})

test('of a large graph connected workspaces are drawn, up to a limit', () => {
  const names = Array.from({ length: 2000 }, (_, index) => `w${index}`)
  const edges = names.slice(2).map((name, index) => [names[index] ?? '', name] as const)

  const { workspaces, triggers, total } = drawnGraph(graph(names, edges), {})

  expect(total).toBe(2000)
  expect(workspaces).toHaveLength(MAX_NODES)
  expect(triggers).toHaveLength(MAX_NODES - 1)
})

test('an edge is rounded at its bends', () => {
  const points = [0, 10, 20, 30].map((x) => ({ x, y: x / 2 }))

  expect(curve(points)).toBe('M 0,0 Q 10,5 15,7.5 Q 20,10 30,15')
  expect(curve(points.slice(0, 2))).toBe('M 0,0 L 10,5')
})
