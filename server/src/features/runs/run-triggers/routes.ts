import { runTriggerIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/run-triggers'
import { z } from 'zod'
import type { Routes } from '../../../http/http.ts'
import { REFUSAL, REQUIRED, lastText, sortBy, text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireRunTrigger, requireTriggerWorkspace } from './access.ts'
import { readDependencyGraph, readTriggerChain } from './graphs.ts'
import {
  dependencyGraphResource,
  listedRunTriggerResource,
  runTriggerResource,
  triggerChainResource,
} from './resource.ts'
import { createRunTrigger, deleteRunTrigger, listOrganizationTriggers } from './service.ts'
import { listRunTriggers } from './store.ts'

const TRIGGER = documentOf(contract.runTriggerSchema)
const TYPE = z
  .preprocess(
    lastText,
    z.enum(contract.TRIGGER_TYPES, {
      error: ({ input }) => {
        const actual = typeof input === 'string' ? `is ${JSON.stringify(input.slice(0, 100))}` : 'is missing'
        return `${actual}; it must be ${contract.TRIGGER_TYPES.join(' or ')}`
      },
    }),
  )
  .meta(REQUIRED)
  .register(REFUSAL, { kind: 'bad-request' })
  .describe('`inbound` for triggers that start runs in the workspace, `outbound` for those that it fires')

export const runTriggerRoutes: Routes = (http) => {
  http.post(
    '/workspaces/:workspaceId/run-triggers',
    {
      summary: 'Create a run trigger',
      access: { workspace: 'run-triggers:manage' },
      audit: 'run_trigger create',
      body: contract.createRunTriggerBody,
      responses: { 201: TRIGGER },
      authorise: async (ctx, { workspaceId }) => requireTriggerWorkspace(ctx, workspaceId, 'run-triggers:manage'),
    },
    async (req) => {
      const { sourceable } = req.body.data.relationships
      return created(runTriggerResource(await createRunTrigger(req.ctx, req.subject, sourceable.data.id)))
    },
  )
  http.get(
    '/workspaces/:workspaceId/run-triggers',
    {
      summary: 'List the run triggers of a workspace',
      access: { workspace: 'runs:read' },
      authorise: async (ctx, { workspaceId }) => requireTriggerWorkspace(ctx, workspaceId, 'runs:read'),
      query: { 'filter[run-trigger][type]': TYPE },
      include: runTriggerIncludes,
      responses: { 200: pageOf(contract.runTriggerSchema) },
    },
    async (req) => {
      const list = { workspaceId: req.subject.id, type: req.query['filter[run-trigger][type]'], page: req.page() }
      return req.list(await listRunTriggers(req.ctx.db, list), runTriggerResource)
    },
  )
  http.get(
    '/run-triggers/:triggerId',
    {
      summary: 'Show a run trigger',
      access: { workspace: 'runs:read' },
      include: runTriggerIncludes,
      responses: { 200: TRIGGER },
    },
    async (req) => ok(runTriggerResource(await requireRunTrigger(req.ctx, req.params.triggerId))),
  )
  http.delete(
    '/run-triggers/:triggerId',
    {
      summary: 'Delete a run trigger',
      access: { workspace: 'run-triggers:manage' },
      audit: 'run_trigger destroy',
      responses: { 204: null },
    },
    async (req) => deleteRunTrigger(req.ctx, req.params.triggerId),
  )

  // Not part of the public API.
  http.get(
    '/runs/:runId/trigger-chain',
    {
      summary: 'Show the causes and the consequences of a run',
      access: { workspace: 'runs:read' },
      responses: { 200: documentOf(contract.triggerChainSchema) },
    },
    async (req) => ok(triggerChainResource(await readTriggerChain(req.ctx, req.params.runId))),
  )
  http.get(
    '/organizations/:organization/run-triggers',
    {
      summary: 'List the run triggers of an organization',
      access: { organization: 'organization:read' },
      authorise: async (ctx, { organization }) => requireOrganization(ctx, organization, 'organization:read'),
      query: {
        q: text().describe('part of the name of the source or the destination'),
        'filter[project][id]': text().describe('id of the project of the source or the destination'),
        sort: sortBy(['source', 'destination', 'last-fired-at'], 'source'),
      },
      responses: { 200: pageOf(contract.listedRunTriggerSchema) },
    },
    async (req) => {
      const { q, sort, 'filter[project][id]': projectId } = req.query
      const list = { q, sort, projectId, page: req.page() }
      return req.list(await listOrganizationTriggers(req.ctx, req.subject, list), listedRunTriggerResource)
    },
  )
  http.get(
    '/organizations/:organization/dependency-graph',
    {
      summary: 'Show the run triggers of an organization as a graph',
      access: { organization: 'organization:read' },
      responses: { 200: documentOf(contract.dependencyGraphSchema) },
    },
    async (req) => ok(dependencyGraphResource(await readDependencyGraph(req.ctx, req.params.organization))),
  )
}
