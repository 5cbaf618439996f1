import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type PolicyRequest,
  type ReportPolicies,
  claimPolicyBody,
  policyRequest,
  reportPolicyBody,
} from '@groundstate/contract/policy-requests'
import { archiveOf } from './archive.ts'
import { createClaimQueue } from './claim-queue.ts'
import { refuseAs, sendJson } from './replies.ts'

type TestSet = Partial<PolicyRequest['sets'][number]> & { files?: Record<string, string>; archive?: Buffer }

export type PolicyInput = Partial<Omit<PolicyRequest, 'sets'>> & { input?: object; sets: TestSet[] }

type PolicyRecord = {
  token: string
  input: object
  archives: Map<string, Buffer>
  heartbeats: number
  resolve: (report: ReportPolicies) => void
}

/** The policy requests of the protocol server, in memory. */
export function createPolicyQueue() {
  const queue = createClaimQueue<PolicyRequest>()
  const records = new Map<string, PolicyRecord>()
  const submitted: PolicyRequest[] = []

  return {
    /** Lets an agent evaluate sets. */
    submit({ input = { plan: {}, run: {} }, sets, ...rest }: PolicyInput) {
      const [id, token] = [`polreq-${records.size + 1}`, `policy-token-${records.size + 1}`]
      const reported = Promise.withResolvers<ReportPolicies>()
      const archives = new Map<string, Buffer>()
      const requested = sets.map(({ files = {}, archive = archiveOf(files), ...set }, index) => {
        archives.set(`polset-${index}`, archive)
        return { id: `polset-${index}`, policiesPath: '', parameters: {}, policies: [], ...set }
      })
      const record = { token, input, archives, heartbeats: 0, resolve: reported.resolve }
      records.set(id, record)
      const defaults = { leaseMs: 30_000, timeLimitMs: 60_000, organizationId: 'org-1' }
      const full = { id, token, opa: { version: '1.4.2' }, ...defaults, ...rest, sets: requested }
      const request = policyRequest.parse(full)
      submitted.push(request)
      queue.push(request)
      return { reported: reported.promise, heartbeats: () => record.heartbeats }
    },
    /** Makes the oldest request claimable again, as the loss of its lease does. */
    requeue: () => submitted.slice(0, 1).forEach((request) => queue.push(request)),
    endClaims: queue.endClaims,
    async claim(request: IncomingMessage, response: ServerResponse, body: Buffer) {
      const found = await queue.next(claimPolicyBody.parse(JSON.parse(body.toString())).waitMs, request)
      return found === undefined ? void response.writeHead(204).end() : sendJson(response, found)
    },
    receive(
      response: ServerResponse,
      given: { id: string; verb: string; setId: string; token: string | undefined; body: Buffer },
    ) {
      const record = records.get(given.id)
      if (record === undefined || record.token !== given.token) return refuseAs(response, 401)
      if (given.verb === 'input') return sendJson(response, record.input)
      if (given.verb === 'sets') return void response.end(record.archives.get(given.setId))
      response.writeHead(204).end()
      if (given.verb === 'heartbeat') record.heartbeats += 1
      else record.resolve(reportPolicyBody.parse(JSON.parse(given.body.toString())))
    },
  }
}
