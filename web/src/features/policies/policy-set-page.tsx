import { failureOf } from '../../api/queries.ts'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { PolicySetSettings } from './policy-set-settings.tsx'
import { type ShownSet, scopeText, setRoute, usePolicySet } from './policy-sets.ts'
import { SetOverview } from './set-overview.tsx'
import { SetParameters } from './set-parameters.tsx'
import { SetScope } from './set-scope.tsx'
import { SetTrials } from './set-trials.tsx'
import { SetVersions } from './set-versions.tsx'

const TABS = {
  policies: 'Policies',
  versions: 'Versions',
  parameters: 'Parameters',
  scope: 'Scope',
  trials: 'Trials',
  settings: 'Settings',
} as const

export function PolicySetPage() {
  const { set: id } = setRoute.useParams()
  const query = usePolicySet(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="policy set" list="policies" {...failure} />
  return query.data ? <OpenSet shown={query.data} /> : <Skeleton label="Loading the policy set" />
}

function OpenSet({ shown }: { shown: ShownSet }) {
  const { organization } = setRoute.useParams()
  const { tab } = setRoute.useSearch()
  const { set } = shown
  const { name, description, overridable, 'policy-count': policies } = set.attributes
  const open = openTab(TABS, tab)
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${TABS[open].toLowerCase()}`}
      badge={!overridable && <Badge tone="accent" text="no overrides" title="A failed mandatory policy ends the run" />}
      about={
        <>
          {description !== '' && <p>{description}</p>}
          <p>{scopeText(set)}</p>
        </>
      }
      actions={<CopyCurl path={`/policy-sets/${set.id}?include=current_version`} />}
    >
      <ParamTabs
        label="Policy set"
        tabs={TABS}
        counts={{ policies }}
        open={open}
        page={{ to: '/app/$organization/policy-sets/$set', params: { organization, set: set.id } }}
      />
      <div className="mt-4">
        {open === 'policies' && <SetOverview organization={organization} shown={shown} />}
        {open === 'versions' && <SetVersions organization={organization} shown={shown} />}
        {open === 'parameters' && <SetParameters set={set} />}
        {open === 'scope' && <SetScope organization={organization} shown={shown} />}
        {open === 'trials' && <SetTrials organization={organization} shown={shown} />}
        {open === 'settings' && <PolicySetSettings organization={organization} set={set} />}
      </div>
    </Page>
  )
}
