import { expect, test } from 'vitest'
import { cyclesOf } from './graphs.ts'

/** `a>b b>c` as edges. */
const edges = (text: string) =>
  text.split(' ').flatMap((edge) => {
    const [from, to] = edge.split('>')
    return from && to ? { from, to } : []
  })

test.each([
  ['no edges', '', {}],
  ['a chain', 'a>b b>c', {}],
  ['a diamond', 'a>b a>c b>d c>d', {}],
  ['two that reach each other', 'a>b b>a', { a: 1, b: 1 }],
  ['a cycle with a tail on both sides', 'x>a a>b b>c c>a c>y', { a: 1, b: 1, c: 1 }],
  ['two cycles with a bridge', 'a>b b>a b>c c>d d>c', { c: 1, d: 1, a: 2, b: 2 }],
  ['two cycles that share a node', 'a>b b>a b>c c>b', { a: 1, b: 1, c: 1 }],
  ['cycles without a way between them', 'a>b b>a c>d d>c', { a: 1, b: 1, c: 2, d: 2 }],
  ['an edge twice', 'a>b a>b', {}],
])('the cycles of %s', (_, text, expected) => {
  expect(Object.fromEntries(cyclesOf(edges(text)))).toEqual(expected)
})

test('a cycle of 20,000 nodes is found without a deep call stack', () => {
  const ring = Array.from({ length: 20_000 }, (_, n) => ({ from: `${n}`, to: `${(n + 1) % 20_000}` }))

  expect(new Set(cyclesOf(ring).values())).toEqual(new Set([1]))
})

test('nodes that reach each other are those in one cycle', () => {
  for (let round = 0; round < 200; round += 1) {
    const graph = randomEdges(round)
    const reach = reachable(graph)
    const found = cyclesOf(graph)

    for (const one of reach.keys())
      for (const two of reach.keys()) {
        const isTogether = one !== two && reach.get(one)?.has(two) && reach.get(two)?.has(one)
        expect(one !== two && found.has(one) && found.get(one) === found.get(two)).toBe(isTogether ?? false)
      }
  }
})

function randomEdges(seed: number) {
  let state = seed * 2_654_435_761 + 1
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return (state >> 8) % below
  }
  return Array.from({ length: 1 + random(14) }, () => ({ from: `${random(7)}`, to: `${random(7)}` })).filter(
    ({ from, to }) => from !== to,
  )
}

function reachable(graph: readonly { from: string; to: string }[]) {
  const reach = new Map<string, Set<string>>()
  for (const { from, to } of graph) for (const node of [from, to]) reach.set(node, new Set())
  for (let changed = true; changed;) {
    changed = false
    for (const { from, to } of graph)
      for (const node of [to, ...(reach.get(to) ?? [])])
        if (!reach.get(from)?.has(node)) {
          reach.get(from)?.add(node)
          changed = true
        }
  }
  return reach
}
