import { getRouteApi } from '@tanstack/react-router'
import { ListChecks, TriangleAlert } from 'lucide-react'
import { type ComponentProps, type ReactNode, Suspense, lazy, useId, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Notice, Skeleton } from '../../components/feedback.tsx'
import { ListLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { TONE_TEXT } from '../../components/status.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { setGuideChoice, useGuideChoice } from './guide-choice.ts'
import { mayCreateSample } from './overview-actions.ts'
import { type Overview, type Sample, useOverview, useTokenWatch, workspaceGroups } from './overview.ts'
import { RunColumns } from './run-columns.tsx'

// The guide is for new organizations only.
const GettingStarted = lazy(async () => ({ default: (await import('./getting-started.tsx')).GettingStarted }))
const SampleCard = lazy(async () => ({ default: (await import('./sample-card.tsx')).SampleCard }))
const SampleOffer = lazy(async () => ({ default: (await import('./sample-card.tsx')).SampleOffer }))

const route = getRouteApi('/frame/app/$organization')

export function OverviewPage() {
  const { organization } = route.useParams()
  const read = useOverview(organization)
  const failure = failureOf(read)
  if (failure) return <ErrorPage {...failure} what="organization" />
  const { data } = read
  return (
    <Page
      title={organization}
      documentTitle={data ? titleOf(organization, data.overview) : organization}
      actions={<CopyCurl path={`/organizations/${organization}/overview`} />}
    >
      {data ? <Content key={organization} organization={organization} {...data} /> : <Skeleton rows={8} />}
    </Page>
  )
}

function titleOf(organization: string, { workspaces }: Overview) {
  const count = workspaces['needs-approval']
  return count === 0 ? organization : `${organization} · ${counted(count, 'run needs', 'runs need')} approval`
}

type ContentProps = { organization: string; overview: Overview; sample: Sample | undefined }

function Content({ organization, overview, sample }: ContentProps) {
  const permissions = useOrganizationPermissions(organization)
  const choice = useGuideChoice(organization)
  useTokenWatch(organization, !overview['has-token'])
  // The checklist remains until the page is left, so that the user sees its completion.
  const [wasNew] = useState(!overview['has-run'])
  const hasGuide = choice === 'shown' || (wasNew && choice !== 'hidden')
  const mayChange = permissions !== undefined && mayCreateSample(permissions)
  const sampleCard = sample ? (
    <SampleCard organization={organization} sample={sample} mayChange={mayChange} />
  ) : (
    hasGuide && mayChange && <SampleOffer organization={organization} />
  )
  const guide = (hasGuide || sampleCard) && (
    <Suspense fallback={<Skeleton rows={8} />}>
      <div
        className={`grid items-start gap-4 ${sample ? 'lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]' : 'lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]'}`}
      >
        {sample && sampleCard}
        {hasGuide && (
          <GettingStarted
            organization={organization}
            overview={overview}
            mayCreate={permissions?.['can-create-workspace'] ?? false}
            mayManageTasks={permissions?.['can-manage-run-tasks'] ?? false}
            onHide={() => setGuideChoice(organization, 'hidden')}
          />
        )}
        {!sample && sampleCard}
      </div>
    </Suspense>
  )
  const isRequested = choice === 'shown'
  const figures = { overview, maySeeQuotas: permissions?.['can-view-usage'] ?? false }
  return (
    <div className="space-y-5">
      {isRequested && guide}
      {(overview.workspaces.total > 0 || !hasGuide) && (
        <>
          <Problems {...figures} />
          <RunColumns organization={organization} overview={overview} />
          <Figures {...figures} />
        </>
      )}
      {!isRequested && guide}
      {wasNew && choice === 'hidden' && (
        <Button label="Show “Get started”" icon={ListChecks} onClick={() => setGuideChoice(organization, 'shown')} />
      )}
    </div>
  )
}

type FiguresProps = { overview: Overview; maySeeQuotas: boolean }

/** Links to all else that needs attention. */
function Problems({ overview: { workspaces, agents, usage }, maySeeQuotas }: FiguresProps) {
  const { drifted } = workspaces
  const full = metersOf(usage).filter(({ used, limit }) => used >= limit)
  return (
    <div className="space-y-2 empty:hidden">
      {agents?.online === 0 && !agents['is-built-in-online'] && (
        <Notice tone="warn">
          No agents are online: runs can’t start.{' '}
          <ListLink list="agents" className="underline">
            Start an agent
          </ListLink>
        </Notice>
      )}
      {full.map(({ text, used, limit }) => (
        <Notice key={text} tone="warn">
          {text}: {used.toLocaleString('en')} of {limit.toLocaleString('en')}, limit reached.{' '}
          {maySeeQuotas && (
            <ListLink list="settings/quotas" className="underline">
              Quotas
            </ListLink>
          )}
        </Notice>
      ))}
      {drifted > 0 && (
        <Notice tone="warn">
          {counted(drifted, 'workspace has', 'workspaces have')} drifted from the configuration.{' '}
          <ListLink list="workspaces" search={{ drifted: 'true' }} className="underline">
            {drifted === 1 ? 'Show it' : 'Show them'}
          </ListLink>
        </Notice>
      )}
    </div>
  )
}

function Figures({ overview, maySeeQuotas }: FiguresProps) {
  const { workspaces, agents, usage } = overview
  const meters = metersOf(usage)
  return (
    <div className="grid grid-cols-2 gap-2 sm:gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)_minmax(0,1.4fr)]">
      <Figure title="Workspaces" list="workspaces" count={workspaces.total} isWide>
        <Groups counts={workspaces} />
      </Figure>
      {agents && (
        <Figure
          title="Agents online"
          list="agents"
          count={agents.online === 0 && agents['is-built-in-online'] ? 'Built in' : agents.online}
        >
          {agentWords(agents)}
        </Figure>
      )}
      <Figure title="Quotas" list={maySeeQuotas ? 'settings/quotas' : undefined} isWide={agents === null}>
        {meters.length === 0 ? (
          'No limits.'
        ) : (
          <ul className="grid gap-x-4 gap-y-2">
            {meters.map((meter) => (
              <Meter key={meter.text} {...meter} />
            ))}
          </ul>
        )}
      </Figure>
    </div>
  )
}

const METERS = {
  'concurrent-runs': 'Active runs',
  'run-tasks': 'Run tasks',
  'run-task-workspaces': 'Workspaces with tasks',
  agents: 'Agents',
} as const satisfies Partial<Record<keyof Overview['usage'], string>>

/** The limited quotas. */
function metersOf(usage: Overview['usage']) {
  return Object.entries(METERS).flatMap(([name, text]) => {
    const of = usage[name as keyof typeof METERS]
    return of && of.limit !== null ? [{ text, used: of.used, limit: of.limit }] : []
  })
}

function agentWords({ online, idle, busy, 'is-built-in-online': isBuiltIn }: NonNullable<Overview['agents']>) {
  if (online > 0) return `${busy} busy, ${idle} idle`
  return isBuiltIn ? 'Runs use the built-in agent.' : 'No runs can start.'
}

type FigureProps = {
  title: string
  /** The page with the details, for users who may open it. */
  list: ComponentProps<typeof ListLink>['list'] | undefined
  count?: number | string
  isWide?: boolean
  children: ReactNode
}

function Figure({ title, list, count, isWide = false, children }: FigureProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={id}
      className={`min-w-0 rounded-lg border border-line bg-paper px-4 py-3 ${isWide ? 'max-lg:col-span-2' : ''}`}
    >
      <h2 id={id} className="font-semibold">
        {list === undefined ? (
          title
        ) : (
          <ListLink list={list} className="hover:underline">
            {title}
          </ListLink>
        )}
      </h2>
      {count !== undefined && (
        <p className={`numeric text-2xl ${count === 0 ? 'text-dim' : 'font-semibold'}`}>{count.toLocaleString('en')}</p>
      )}
      <div className="mt-1 text-dim">{children}</div>
    </section>
  )
}

function Groups({ counts }: { counts: Overview['workspaces'] }) {
  const shown = workspaceGroups(counts).filter(({ count }) => count !== undefined && count > 0)
  if (shown.length === 0) return <p>No workspaces.</p>
  return (
    <ul className="flex flex-wrap gap-1.5">
      {shown.map(({ value, text, tone, icon: Icon, count }) => (
        <li key={value}>
          <ListLink
            list="workspaces"
            search={{ status: value }}
            className="inline-flex h-7 items-center gap-1.5 rounded-full border border-line px-2.5 text-ink no-underline hover:bg-hover"
          >
            <Icon size={14} className={TONE_TEXT[tone]} />
            {text}
            <span className="numeric text-dim">{count?.toLocaleString('en')}</span>
          </ListLink>
        </li>
      ))}
    </ul>
  )
}

function Meter({ text, used, limit }: { text: string; used: number; limit: number }) {
  const isFull = used >= limit
  const words = `${used.toLocaleString('en')} of ${limit.toLocaleString('en')}`
  return (
    <li>
      <span className="flex justify-between gap-2">
        <span>{text}</span>
        <span className={`numeric ${isFull ? 'inline-flex items-center gap-1 text-warn' : ''}`}>
          {isFull && <TriangleAlert size={13} />}
          {words}
        </span>
      </span>
      <span aria-hidden="true" className="mt-0.5 block h-1.5 overflow-hidden rounded-full bg-hover">
        <span
          className={`block h-full rounded-full ${isFull ? 'bg-warn' : 'bg-accent'}`}
          style={{ width: `${limit === 0 ? 100 : Math.min(100, (used / limit) * 100)}%` }}
        />
      </span>
    </li>
  )
}
