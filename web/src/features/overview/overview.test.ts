import { expect, test } from 'vitest'
import { agentLoad } from './overview.ts'

const jobs = { waiting: 4, running: 1 }
const none = { online: 0, idle: 0, busy: 0, 'is-built-in-online': false }

test('agents are summarized by how many of them are busy', () => {
  const agents = { online: 5, idle: 2, busy: 3, 'is-built-in-online': false }

  expect(agentLoad({ agents, jobs })).toBe('3 of 5 agents busy')
  expect(agentLoad({ agents: { ...agents, 'is-built-in-online': true }, jobs })).toBe(
    '3 of 5 agents busy, plus the built-in agent',
  )
})

test('the built-in agent is summarized by its active runs', () => {
  expect(agentLoad({ agents: { ...none, 'is-built-in-online': true }, jobs })).toBe(
    '1 active run on the built-in agent',
  )
})

test('a lack of agents is mentioned; users who may not see agents see only runs', () => {
  expect(agentLoad({ agents: none, jobs })).toBe('No agents online')
  expect(agentLoad({ agents: null, jobs })).toBe('1 active run')
})
