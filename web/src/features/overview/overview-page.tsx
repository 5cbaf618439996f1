import { getRouteApi } from '@tanstack/react-router'
import { ListChecks } from 'lucide-react'
import { useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { Figures } from './figures.tsx'
import { GettingStarted, setGuideChoice, useGuideChoice } from './getting-started.tsx'
import { type Overview, type Sample, useOverview, useTokenWatch } from './overview.ts'
import { RunColumns } from './run-columns.tsx'
import { SampleCard, SampleOffer, mayCreateSample } from './sample-card.tsx'

const route = getRouteApi('/frame/app/$organization')

/** What needs the user's attention in an organization; getting started on a new server. */
export function OverviewPage() {
  const { organization } = route.useParams()
  const read = useOverview(organization)
  const failure = failureOf(read)
  if (failure) return <ErrorPage {...failure} what="organization" />
  const { data } = read
  return (
    <Page title={organization} documentTitle={data ? titleOf(organization, data.overview) : organization}>
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
  const permissions = useOrganization(organization).data?.attributes.permissions
  const choice = useGuideChoice(organization)
  useTokenWatch(organization, !overview['has-token'])
  // The checklist remains until the page is left, so that the user sees its completion.
  const [wasNew] = useState(!overview['has-run'])
  const hasGuide = choice === 'shown' || (wasNew && choice !== 'hidden')
  const mayChange = permissions !== undefined && mayCreateSample(permissions)
  const sampleCard = sample ? (
    <SampleCard organization={organization} sample={sample} mayChange={mayChange} />
  ) : (
    hasGuide && mayChange && !overview['has-run'] && <SampleOffer organization={organization} />
  )
  const guide = (hasGuide || sampleCard) && (
    <div
      className={`grid items-start gap-4 ${sample ? 'lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]' : 'lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]'}`}
    >
      {sample && sampleCard}
      {hasGuide && (
        <GettingStarted
          organization={organization}
          overview={overview}
          mayCreate={permissions?.['can-create-workspace'] ?? false}
          onHide={() => setGuideChoice(organization, 'hidden')}
        />
      )}
      {!sample && sampleCard}
    </div>
  )
  const isRequested = choice === 'shown'
  return (
    <div className="space-y-5">
      {isRequested && guide}
      {(overview.workspaces.total > 0 || !hasGuide) && (
        <>
          <Figures organization={organization} overview={overview} />
          <RunColumns organization={organization} overview={overview} />
        </>
      )}
      {!isRequested && guide}
      {wasNew && choice === 'hidden' && (
        <Button icon={ListChecks} onClick={() => setGuideChoice(organization, 'shown')}>
          Show “Get started”
        </Button>
      )}
    </div>
  )
}
