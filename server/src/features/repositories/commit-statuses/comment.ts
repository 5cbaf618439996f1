import type { PlanDifference, ReviewResult } from '@groundstate/contract/reviewed-plans'
import { isEnded } from '@groundstate/contract/run-status'
import type { PlanChange } from '../../../terraform-state/plan-changes.ts'
import type { HostCapabilities } from '../../../vcs-hosts/host.ts'
import { describeRun, pagesOf, startOf } from './status.ts'
import type { ReportRow, ReportedRun } from './store.ts'

/*
 * The comment on a pull request: what its plans do in each workspace and, after the merge, what the applies did. Readers of a repository
 * need not be members, so it has counts and addresses, never values. Texts from configurations are only in code, where hosts interpret
 * neither markup nor mentions.
 */

export type WorkspaceReport = ReportRow & {
  /** The first changes of the plan, and the number of all; null if they are unknown, `unread` before they have been read. */
  plan: { changes: readonly PlanChange[]; total: number } | null | 'unread'
  review: { result: ReviewResult; differences: readonly PlanDifference[]; difference_count: number } | null
}
type Executed = WorkspaceReport & { run: ReportedRun }

type Format = NonNullable<HostCapabilities['comments']>
type Comment = {
  baseUrl: string
  reports: readonly WorkspaceReport[]
  format: Format
  /** The first line of the comment, by which it is found. */
  marker: string
}

/** Undefined while there is nothing to say: no plan has ended, or no workspace is concerned. */
export function pullRequestComment({ baseUrl, reports, format, marker }: Comment): string | undefined {
  if (!reports.some(isWorthTelling)) return undefined
  const executed = reports.filter((report): report is Executed => report.run !== null)
  const merged = executed.filter(({ kind }) => kind === 'run')
  const planned = executed.filter(({ kind }) => kind === 'plan')
  const share = (fraction: number) => Math.floor(format.maxLength * fraction)
  const parts = [
    marker,
    ...table(baseUrl, { title: 'After the merge', reports: merged, max: share(0.2) }),
    ...table(baseUrl, { title: 'Plans', reports: planned, max: share(0.2) }),
    ...conflicts(reports, share(0.1)),
    ...skipped(reports, share(0.1)),
  ]
  const sections = [
    ...merged.flatMap((report) => differencesOf(baseUrl, report)),
    ...planned.flatMap((report) => changesOf(baseUrl, report)),
  ]
  const text = parts.join('\n\n')
  return text + sectionsText(sections, format, format.maxLength - text.length)
}

/** Nobody can guess the id before the comment exists, so that no comment of others is taken for it. */
export function commentMarker(organizationName: string, id: string) {
  // The definition of a link is invisible: not all hosts hide comments of HTML.
  return `[//]: # (groundstate/${organizationName}/${id})`
}

function isWorthTelling({ run, reason, kind, plan }: WorkspaceReport) {
  if (!run) return reason === 'merge-conflict'
  if (run.plan.status === 'finished') return kind === 'run' || plan !== 'unread'
  return isEnded(run.status)
}

/** Space for a line about what was cut off, in UTF-16 units. */
const MORE_LENGTH = 300

/** The lines that fit, and one about the rest. */
function fitting(lines: readonly string[], max: number, more: (count: number) => string) {
  let left = max - MORE_LENGTH
  const shown = lines.filter((line) => (left -= line.length + 1) >= 0)
  const rest = lines.length - shown.length
  return [...shown, ...(rest > 0 ? [more(rest)] : [])].join('\n')
}

const SIGNS = { pending: '⏳', success: '✅', failure: '❌', error: '❌' } as const
const COMPARED = {
  pending: 'not yet',
  identical: 'identical',
  different: '**different**',
  unreviewed: 'not planned here',
  unknown: 'could not be compared',
} as const satisfies Record<ReviewResult, string>

type Table = { title: string; reports: readonly Executed[]; max: number }

function table(baseUrl: string, { title, reports, max }: Table): string[] {
  const [first] = reports
  if (!first) return []
  const isMerged = first.kind === 'run'
  const rows = reports.map((report) => {
    const { state, text } = describeRun(report.run)
    const link = `[${code(report.workspace_name)}](${pagesOf(baseUrl, report).run(report.run.id)})`
    const cells = [link, `${SIGNS[state]} ${text}`, ...(isMerged ? [COMPARED[report.review?.result ?? 'pending']] : [])]
    return `| ${cells.join(' | ')} |`
  })
  const columns = isMerged ? ['Workspace', 'Run', 'Compared with the plan reviewed here'] : ['Workspace', 'Plan']
  const head = `**${title}** (${code(first.commit_sha.slice(0, 7))})\n\n| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}`
  return [`${head}\n${fitting(rows, max, (count) => `\nand ${count} more workspaces`)}`]
}

function conflicts(reports: readonly WorkspaceReport[], max: number): string[] {
  const details = new Set(reports.flatMap(({ reason, detail }) => (reason === 'merge-conflict' ? (detail ?? '') : [])))
  if (details.size === 0) return []
  const lines = [...details].map((detail) => `- ${code(detail)}`)
  return [`The pull request conflicts with its base, so nothing was planned:\n\n${fitting(lines, max, andMore)}`]
}

/** Without the paths that they wait for, which are settings of the workspaces. */
function skipped(reports: readonly WorkspaceReport[], max: number): string[] {
  const names = reports.flatMap((report) => (report.reason === 'no-matching-files' ? code(report.workspace_name) : []))
  if (names.length === 0) return []
  const shown = fitting(names, max, andMore).replaceAll('\n', ', ')
  return [`Skipped, since no changed file concerns them: ${shown}`]
}

const andMore = (count: number) => `and ${count} more`

/** Lines in code, below a title without markup of others. */
type Section = { title: string; url: string; lines: readonly string[]; unlisted: number }

function sectionsText(sections: readonly Section[], { rendersHtml }: Format, max: number) {
  let left = max - MORE_LENGTH
  let omitted = 0
  const texts = sections.map((section, index) => {
    // What one section does not need is left to the next ones.
    const text = sectionText(section, rendersHtml, Math.floor(left / Math.min(sections.length - index, 5)))
    if (text.length > left) {
      omitted += 1
      return ''
    }
    left -= text.length
    return text
  })
  return `${texts.join('')}${omitted > 0 ? `\n\nThe changes in ${omitted} more workspaces are on the pages of their runs.` : ''}`
}

function sectionText({ title, url, lines, unlisted }: Section, rendersHtml: boolean, max: number) {
  const clean = lines.map((line) => cleaned(line))
  const fence = fenceOf(clean.join('\n'), 3)
  let cut = 0
  const shown = fitting(clean, max - 2 * MORE_LENGTH, (count) => {
    cut = count
    return ''
  }).trimEnd()
  const hidden = cut + unlisted
  const body = `${fence}text\n${shown}\n${fence}${hidden > 0 ? `\n\nand ${hidden} more: [see the run](${url})` : ''}`
  return rendersHtml
    ? `\n\n<details><summary>${title}</summary>\n\n${body}\n\n</details>`
    : `\n\n**${title}**\n\n${body}`
}

const GROUPS = ['create', 'update', 'replace', 'delete', 'import', 'move', 'forget', 'outputs'] as const

function groupOf({ actions, mode, isImport }: PlanChange): (typeof GROUPS)[number] {
  if (mode === 'output') return 'outputs'
  const [only = 'no-op', second] = actions
  if (second !== undefined) return 'replace'
  if (only === 'create' || only === 'update' || only === 'delete' || only === 'forget') return only
  return isImport ? 'import' : 'move'
}

function changesOf(baseUrl: string, { plan, run, ...report }: Executed): Section[] {
  if (plan === null || plan === 'unread') return []
  const changes = plan.changes.filter(({ mode }) => mode !== 'data')
  if (changes.length === 0) return []
  const groups = Map.groupBy(changes, groupOf)
  const lines = GROUPS.flatMap((group) => {
    const members = groups.get(group) ?? []
    return members.length === 0 ? [] : [group, ...members.map((change) => `  ${changeLine(change, group)}`)]
  })
  const title = `Changes in ${report.workspace_name}`
  return [{ title, url: pagesOf(baseUrl, report).run(run.id), lines, unlisted: plan.total - plan.changes.length }]
}

function changeLine({ address, mode, previousAddress, isImport }: PlanChange, group: string) {
  const name = mode === 'output' ? address.replace(/^output\./, '') : address
  const origin = previousAddress === undefined ? '' : ` (from ${previousAddress})`
  return `${name}${origin}${isImport && group !== 'import' ? ' (imported)' : ''}`
}

function differencesOf(baseUrl: string, { review, run, ...report }: Executed): Section[] {
  if (review?.result !== 'different') return []
  const lines = review.differences.map((difference) => {
    const [reviewed, planned] = [difference['reviewed-actions'], difference['planned-actions']].map(actionsText)
    return `${difference.address}: reviewed ${reviewed}, planned ${planned}`
  })
  const title = `Differences from the reviewed plan in ${report.workspace_name}`
  return [{ title, url: pagesOf(baseUrl, report).run(run.id), lines, unlisted: review.difference_count - lines.length }]
}

function actionsText(actions: readonly string[]) {
  return actions.length === 0 ? 'nothing' : actions.join(' and ')
}

const MAX_LINE = 500

/** On one line, without characters that are invisible or change the order of others. */
function cleaned(text: string) {
  return startOf(text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '�'), MAX_LINE)
}

/** Text as code within a line, which no content can end. */
function code(text: string) {
  const clean = cleaned(text)
  const fence = fenceOf(clean, 1)
  return fence.length === 1 ? `${fence}${clean}${fence}` : `${fence} ${clean} ${fence}`
}

/** Backticks, at least `length`, and more than any in the text. */
function fenceOf(text: string, length: number) {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length))
  return '`'.repeat(Math.max(length, longest + 1))
}
