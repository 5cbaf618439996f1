import { expect, test } from 'vitest'
import { agentLoad } from './overview.ts'

const jobs = { waiting: 4, running: 1 }
const none = { online: 0, idle: 0, busy: 0, 'is-built-in-online': false }

test('agents are summarized by how many of them are busy', () => {
  const agents = { online: 5, idle: 2, busy: 3, 'is-built-in-online': false }

  expect(agentLoad({ agents, jobs })).toEqual({ text: '3 of 5 agents busy', isLacking: false })
  expect(agentLoad({ agents: { ...agents, 'is-built-in-online': true }, jobs }).text).toBe(
    '3 of 5 agents busy, plus the built-in agent',
  )
})

test('the built-in agent is summarized by its active runs', () => {
  expect(agentLoad({ agents: { ...none, 'is-built-in-online': true }, jobs }).text).toBe(
    '1 active run on the built-in agent',
  )
})

test('without an agent no run can start; users who may not see agents see only runs', () => {
  expect(agentLoad({ agents: none, jobs }).isLacking).toBe(true)
  expect(agentLoad({ agents: null, jobs })).toEqual({ text: '1 active run', isLacking: false })
})
