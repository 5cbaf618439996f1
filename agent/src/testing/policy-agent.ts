import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { sandboxProblem } from '../isolation/confinement.ts'
import type { AgentOptions } from '../settings/agent-options.ts'
import { startAgent, startServer } from './agent-fixture.ts'
import { testOpa } from './opa.ts'
import type { PolicyInput } from './policy-queue.ts'

const PLAN = {
  resource_changes: [
    {
      address: 'aws_db.main',
      change: { after: { size: 5, password: 'hunter22"<x>' }, after_sensitive: { password: true } },
    },
  ],
}

/** Policies of the package `rules`, in the syntax of OPA 1.0. */
export function rego(body: string) {
  return `package rules\nimport rego.v1\n${body}\n`
}

const problem = await sandboxProblem()
if (problem !== undefined) process.stderr.write(`\nNO SANDBOX: policies are tested without it: ${problem}\n\n`)

/** Whether to test with the sandbox of runs: not at all and, where it works, with it. */
export const SANDBOXES = problem === undefined ? [false, true] : [false]

/** The options of an agent that evaluates policies with the OPA of tests. */
export function policyAgentOptions(): Partial<AgentOptions> {
  const { path, directory, isStandIn } = testOpa()
  // The sandbox shows hooks, and so the files that a stand-in needs.
  return { accepts: ['policy'], opa: { path }, ...(isStandIn && { hooks: directory }) }
}

type Options = Partial<PolicyInput> & { agent?: Partial<AgentOptions> }

/** Lets an agent evaluate a set; returns the results of its policies, or the error of the request. */
export async function evaluated(set: PolicyInput['sets'][number], { agent = {}, ...more }: Options = {}) {
  const server = await startServer()
  const { workDir } = await startAgent(server, { ...policyAgentOptions(), ...agent })
  const policies = [{ name: 'deny', query: 'data.rules.deny' }]
  const request = { opa: { version: testOpa().version }, input: { plan: PLAN, run: { id: 'run-1' } }, ...more }
  const report = await server.policies.submit({ ...request, sets: [{ policies, ...set }] }).reported
  await expect.poll(() => readdir(join(workDir, 'runs'))).toEqual([])
  return 'error' in report ? report.error : report.sets[0]?.policies
}
