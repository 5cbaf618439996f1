import type { Stage, TaskResource, TaskTestResource } from '@groundstate/contract/run-tasks'
import { describeExchange, shownResponse } from '../../../deliveries/attempts.ts'
import { type Task, mayBeGlobal } from './access.ts'
import type { Verification } from './receiver.ts'

/** `attachments` are the workspace tasks that the caller may see. */
type ShownTask = Omit<Task, 'access'> & { attachments: readonly { id: string }[] }

export function taskResource(task: ShownTask): TaskResource {
  const self = `/api/v2/tasks/${task.id}`
  return {
    id: task.id,
    type: 'tasks',
    attributes: {
      name: task.name,
      url: task.url,
      description: task.description,
      category: task.category,
      'hmac-key': null,
      'has-hmac-key': task.hmac_key !== null,
      enabled: task.enabled,
      'global-configuration': mayBeGlobal(task)
        ? {
            enabled: task.global_enabled,
            stages: task.global_stages as Stage[],
            'enforcement-level': task.global_enforcement_level,
          }
        : null,
      'ca-certificate': task.ca_certificates,
      'created-at': task.created_at,
      'updated-at': task.updated_at,
    },
    relationships: {
      organization: { data: { id: task.organization_name, type: 'organizations' } },
      'workspace-tasks': {
        data: task.attachments.map(({ id }) => ({ id, type: 'workspace-tasks' })),
        links: { related: `${self}/relationships/workspace-tasks` },
      },
      'agent-pool': { data: task.agent_pool_id === null ? null : { id: task.agent_pool_id, type: 'agent-pools' } },
    },
    links: { self },
  }
}

export function taskTestResource(
  task: { id: string },
  { request, signature, exchange }: Verification,
  isHidden: boolean,
): TaskTestResource {
  const { response } = exchange
  return {
    id: task.id,
    type: 'task-tests',
    attributes: {
      passed: response?.status === 200,
      summary: describeExchange(exchange, { isHidden }),
      'duration-ms': exchange.durationMs,
      request: { method: 'POST', url: request.url, headers: request.headers, body: request.body },
      'expected-signature': signature,
      response:
        response === undefined
          ? null
          : shownResponse(
              {
                status: response.status,
                headers: response.headers,
                body: response.body.toString('utf8'),
                'is-truncated': response.truncated,
              },
              { isHidden },
            ),
      error: exchange.error ?? null,
    },
    relationships: { task: { data: { id: task.id, type: 'tasks' } } },
  }
}
