import { Card } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { loaded } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { useOverview } from '../overview/overview.ts'
import { useSession } from '../session/session.ts'
import { useOpenOrganization } from './organization-settings.ts'

const QUOTAS = [
  ['run-tasks', 'Run tasks', '/run-tasks'],
  ['run-task-workspaces', 'Workspaces with run tasks', '/run-tasks'],
  ['agents', 'Agents online', '/agents'],
  ['concurrent-runs', 'Concurrent runs', '/runs'],
] as const

export function QuotasPage() {
  const { name, data: organization } = useOpenOrganization()
  const { data: account } = useSession()
  const { data, fallback } = loaded(useOverview(name))
  const plan = organization?.attributes['plan-identifier']
  return (
    <Page
      title="Quotas"
      about={plan && `Limits of the organization’s plan: ${plan}.`}
      actions={<CopyCurl path={`/organizations/${name}/overview`} />}
    >
      {!data && fallback}
      {data && (
        <div className="grid gap-4">
          <Card title="Usage">
            <ul className="space-y-4">
              {QUOTAS.map(([key, text, path]) => (
                <Quota key={key} text={text} to={`/app/${name}${path}`} usage={data.overview.usage[key]} />
              ))}
            </ul>
          </Card>
          <Card title="Raise a quota">
            <p>
              {account?.attributes['is-site-admin'] ? (
                <TargetLink
                  leadsTo={{ to: '/app/admin/organizations/$name', params: { name } }}
                  className="text-accent underline"
                >
                  Change plan and concurrent runs
                </TargetLink>
              ) : (
                'A site administrator changes the plan and the number of concurrent runs.'
              )}{' '}
              <DocsLink page="operations" anchor="limit-concurrent-runs">
                Limit concurrent runs
              </DocsLink>
            </p>
          </Card>
        </div>
      )}
    </Page>
  )
}

type QuotaProps = { text: string; to: string; usage: { used: number; limit: number | null } | null }

function Quota({ text, to, usage }: QuotaProps) {
  // Those who may not read the resources do not see their number.
  if (!usage) return null
  const { used, limit } = usage
  const share = limit === null ? 0 : Math.min(1, used / Math.max(1, limit))
  const isFull = limit !== null && used >= limit
  return (
    <li>
      <div className="flex flex-wrap items-baseline gap-x-3">
        <TargetLink leadsTo={{ to }} className="flex-1 font-medium text-accent">
          {text}
        </TargetLink>
        <span className={`numeric ${isFull ? 'font-medium text-bad' : 'text-dim'}`}>
          {used.toLocaleString('en')}
          {limit === null ? ' · no limit' : ` of ${limit.toLocaleString('en')}${isFull ? ' · full' : ''}`}
        </span>
      </div>
      {limit !== null && (
        <div
          role="meter"
          aria-label={text}
          aria-valuenow={used}
          aria-valuemin={0}
          aria-valuemax={limit}
          className="mt-1 h-2 overflow-hidden rounded-full bg-hover"
        >
          <div className={`h-full ${isFull ? 'bg-bad' : 'bg-accent'}`} style={{ width: `${share * 100}%` }} />
        </div>
      )}
    </li>
  )
}
