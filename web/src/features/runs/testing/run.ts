import type { Plan, Run, TaskResult, TaskStage, PolicyEvaluation } from '../run.ts'

/** A run as in an API response. */
export function runWith(attributes: Partial<Run['attributes']> = {}, relationships: object = {}): Run {
  return {
    id: 'run-1234567890abcdef',
    type: 'runs',
    attributes: {
      actions: {
        'is-cancelable': false,
        'is-confirmable': false,
        'is-discardable': false,
        'is-force-cancelable': false,
      },
      'allow-config-generation': false,
      'allow-empty-apply': false,
      'auto-apply': false,
      'canceled-at': null,
      'created-at': at(0),
      'debugging-mode': false,
      'error-message': null,
      'force-cancel-available-at': null,
      'has-changes': true,
      'is-destroy': false,
      message: 'A run',
      permissions: {
        'can-apply': true,
        'can-cancel': true,
        'can-comment': true,
        'can-discard': true,
        'can-force-execute': true,
        'can-force-cancel': true,
        'can-override-policy-check': true,
      },
      'plan-only': false,
      'policy-paths': [],
      'invoke-action-addrs': [],
      refresh: true,
      'refresh-only': false,
      'replace-addrs': [],
      'save-plan': false,
      source: 'tfe-api',
      status: 'planned',
      'status-timestamps': {},
      'target-addrs': [],
      'trigger-reason': 'manual',
      'triggering-source-name': null,
      'terraform-version': '1.11.4',
      'engine-version': '1.11.4',
      'updated-at': at(0),
      variables: [],
      'waiting-reason': null,
      ...attributes,
    },
    relationships: {
      workspace: { data: { id: 'ws-1', type: 'workspaces' } },
      plan: { data: { id: 'plan-1', type: 'plans' } },
      apply: { data: { id: 'apply-1', type: 'applies' } },
      'configuration-version': { data: { id: 'cv-1', type: 'configuration-versions' } },
      'created-by': { data: null },
      'confirmed-by': { data: null },
      'canceled-by': { data: null },
      'triggering-run': { data: null },
      'triggering-source': { data: null },
      'triggering-runs': { data: [] },
      'cost-estimate': { data: null },
      'tf-policy-evaluations': { data: [] },
      'policy-checks': { data: [] },
      'task-stages': { data: [] },
      'run-events': {},
      comments: { data: [] },
      ...relationships,
    },
    links: { self: '/api/v2/runs/run-1234567890abcdef' },
  }
}

/** A time given in seconds after a fixed start. */
export function at(second: number) {
  return new Date(Date.UTC(2030, 0, 31, 12, 0, second)).toISOString()
}

/** A plan; also used as an apply, since pages read the same attributes of both. */
export function planWith(attributes: Partial<Plan['attributes']>): Plan {
  return {
    id: 'plan-1',
    type: 'plans',
    attributes: {
      status: 'finished',
      'status-timestamps': {},
      'log-read-url': 'https://groundstate.example/_objects/logs/1',
      'log-deleted-at': null,
      'json-deleted-at': null,
      'resource-additions': null,
      'resource-changes': null,
      'resource-destructions': null,
      'resource-imports': null,
      'execution-details': null,
      'has-changes': true,
      'generated-configuration': false,
      'structured-run-output-enabled': false,
      actions: { 'is-exportable': false },
      permissions: { 'can-export': false },
      ...attributes,
    },
    relationships: { 'state-versions': { data: [] }, exports: { data: [] } },
    links: { self: '', 'json-output': '', 'json-output-redacted': '' },
  }
}

/** A task stage with a result for each item of `results`. */
export function stageWith(
  attributes: Partial<TaskStage['attributes']>,
  results: readonly Partial<TaskResult['attributes']>[] = [{}],
): TaskStage {
  const stage = attributes.stage ?? 'pre_plan'
  return {
    id: `ts-${stage}`,
    type: 'task-stages',
    attributes: {
      stage,
      status: 'running',
      'status-timestamps': {},
      message: null,
      'created-at': at(0),
      'updated-at': at(0),
      permissions: { 'can-override-policy': false, 'can-override-tasks': false, 'can-override': false },
      actions: { 'is-overridable': false },
      ...attributes,
    },
    relationships: {
      run: { data: { id: 'run-1234567890abcdef', type: 'runs' } },
      'task-results': { data: [] },
      'policy-evaluations': { data: [] },
    },
    links: { self: '' },
    evaluations: [],
    results: results.map((own, index) => ({
      id: `taskrs-${index}`,
      type: 'task-results',
      attributes: {
        status: 'running',
        message: '',
        'status-timestamps': {},
        url: '',
        'created-at': at(0),
        'updated-at': at(0),
        'task-id': 'task-1',
        'task-name': 'audit',
        'task-url': 'https://audit.example',
        stage,
        'is-speculative': false,
        'workspace-task-id': null,
        'workspace-task-enforcement-level': 'mandatory',
        'agent-pool-id': null,
        'task-result-outcomes-count': 0,
        'outcome-levels': { none: 0, info: 0, warning: 0, error: 0 },
        'delivery-attempts': 0,
        'delivered-at': null,
        'next-delivery-at': null,
        'deadline-at': null,
        ...own,
      },
      relationships: { 'task-stage': { data: null }, 'task-result-outcomes': {}, deliveries: {} },
      links: { self: '' },
    })),
  }
}

export function policyEvaluationWith(attributes: Partial<PolicyEvaluation['attributes']>): PolicyEvaluation {
  return {
    id: 'poleval-1',
    type: 'policy-evaluations',
    attributes: {
      status: 'running',
      'policy-kind': 'opa',
      'policy-tool-version': null,
      'status-timestamps': {},
      'created-at': at(0),
      'updated-at': at(0),
      'result-count': { passed: 0, 'advisory-failed': 0, 'mandatory-failed': 0, errored: 0 },
      message: null,
      'override-comment': null,
      ...attributes,
    },
    relationships: {
      'policy-attachable': { data: { id: 'ts-1', type: 'task-stages' } },
      'policy-set-outcomes': { data: [] },
      'overridden-by': { data: null },
    },
    links: { self: '' },
    overriddenBy: undefined,
  }
}
