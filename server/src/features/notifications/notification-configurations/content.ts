import type { Trigger } from '@groundstate/contract/notification-configurations'
import { RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'

/** The run at the time of an event, as stored with the notification. Times are ISO 8601. */
export type RunFacts = {
  run_id: string
  run_message: string
  run_created_at: string
  /** Null for a run that no user created. */
  run_created_by: string | null
  run_status: RunStatus
  run_updated_at: string
  /** Null if the server or an agent caused the event. */
  run_updated_by: string | null
  /** Undefined in notifications of earlier versions. */
  run_is_destroy?: boolean
}

export type WorkspaceFacts = { workspace_id: string; workspace_name: string; organization_name: string }

/** Resources to import, add, change and destroy. */
export type Counts = { imports: number; additions: number; changes: number; destructions: number }

/** The content of a message, from which each destination makes its format. */
export type Content = {
  configuration: { id: string; name: string } | null
  trigger: Trigger | 'verification'
  /** Such as `Run Applied`, as the public service words it. */
  message: string
  /** The workspace, project or team of the configuration. */
  place: string
  /** Null in a verification. */
  workspace: WorkspaceFacts | null
  /** The user who approved the run, or who deleted the workspace. */
  approved_by?: string | null
  deleted_by?: string | null
  run: RunFacts | null
  counts: Counts | null
  /** The first error of a phase that failed. */
  failure: string | null
}

export function verificationOf(configuration: { id: string; name: string }, place: string): Content {
  return {
    configuration,
    trigger: 'verification',
    message: `Verification of "${configuration.name}"`,
    place,
    workspace: null,
    run: null,
    counts: null,
    failure: null,
  }
}

export function workspaceUrl(baseUrl: string, { organization_name, workspace_name }: WorkspaceFacts) {
  return `${baseUrl}/app/${encodeURIComponent(organization_name)}/workspaces/${encodeURIComponent(workspace_name)}`
}

export function runUrl(baseUrl: string, { workspace, run }: Pick<Content, 'workspace' | 'run'>) {
  return workspace && run && `${workspaceUrl(baseUrl, workspace)}/runs/${run.run_id}`
}

/** The parts of a message to people, as plain texts for the destination to escape. */
export type Parts = {
  title: string
  /** Organization and workspace, or the project or team in a verification. */
  place: string
  /** The message of the run. */
  subject: string | undefined
  /** Who, and what changes. */
  details: string[]
  failure: string | undefined
  link: { label: string; url: string } | undefined
}

const MAX_SUBJECT = 300

export function partsOf(baseUrl: string, content: Content): Parts {
  const { run, counts, failure } = content
  const url = runUrl(baseUrl, content)
  const changes = counts && describeCounts(counts)
  const needed =
    run && content.trigger === 'run:needs_attention'
      ? RUN_STATUS_TABLE[run.run_status].label === 'needs a decision'
        ? 'Needs a decision'
        : 'Needs approval'
      : undefined
  // Such as `discarded` of `Run Discarded`.
  const ended = run?.run_status === 'errored' ? undefined : content.message.split(' ').at(-1)?.toLowerCase()
  const people = [
    ['started', run && (run.run_created_by ?? 'the server')],
    ['approved', content.approved_by],
    [ended, content.trigger === 'run:errored' ? run?.run_updated_by : null],
    ['deleted', content.deleted_by],
  ]
  return {
    title: needed ?? content.message,
    place: content.place,
    subject: run ? shortened(run.run_message, MAX_SUBJECT) : undefined,
    details: [
      ...people.flatMap(([verb, name]) => (verb && name ? [`${verb} by ${name}`] : [])),
      ...(run?.run_is_destroy === true ? ['destroys everything'] : []),
      ...(changes === null ? [] : [changes]),
      ...(content.trigger === 'verification' ? ['Notifications of this configuration arrive here.'] : []),
    ],
    failure: failure ?? undefined,
    link:
      url === null
        ? undefined
        : { label: content.trigger === 'run:needs_attention' ? 'Review the run' : 'Open the run', url },
  }
}

/** `+2 ~4 −0`, with imports if there are any. */
export function describeCounts({ imports, additions, changes, destructions }: Counts) {
  const imported = imports > 0 ? [`${imports} to import`] : []
  return [`+${additions} ~${changes} −${destructions}`, ...imported].join(', ')
}

export function shortened(text: string, max: number) {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}
