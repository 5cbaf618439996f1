import { getRouteApi } from '@tanstack/react-router'
import { Variable as VariableIcon } from 'lucide-react'
import { failureOf } from '../../api/queries.ts'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { EmptyState, ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { VariablesEditor } from '../variables/variables-editor.tsx'
import { Owner, PriorityBadge } from './set-name.tsx'
import { SetSettings } from './set-settings.tsx'
import { SetWorkspaces } from './set-workspaces.tsx'
import { type ShownSet, owningProject, scopeText, useVariableSet } from './variable-sets.ts'

const route = getRouteApi('/frame/app/$organization/variable-sets/$set')

const TABS = { variables: 'Variables', workspaces: 'Scope', settings: 'Settings' } as const

export function VariableSetPage() {
  const { set: id } = route.useParams()
  const query = useVariableSet(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="variable set" list="variable-sets" {...failure} />
  return query.data ? <OpenSet shown={query.data} /> : <Skeleton label="Loading the variable set" />
}

function OpenSet({ shown }: { shown: ShownSet }) {
  const { organization } = route.useParams()
  const { tab, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const { set } = shown
  const { name, description, permissions, 'var-count': variables } = set.attributes
  const open = openTab(TABS, tab)
  const onSearch = (change: typeof search, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace })
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${TABS[open].toLowerCase()}`}
      badge={<PriorityBadge set={set} />}
      about={
        <>
          {description !== '' && <p>{description}</p>}
          <p>
            {scopeText(set)}
            {owningProject(set) !== undefined && (
              <>
                {' · belongs to '}
                <Owner set={set} />
              </>
            )}
          </p>
        </>
      }
      actions={<CopyCurl path={`/varsets/${set.id}?include=vars`} />}
    >
      <ParamTabs
        label="Variable set"
        tabs={TABS}
        counts={{ variables }}
        open={open}
        page={{ to: '/app/$organization/variable-sets/$set', params: { organization, set: set.id } }}
      />
      <div className="mt-4">
        {open === 'variables' && (
          <VariablesEditor
            owner={{ kind: 'set', id: set.id, organization }}
            mayChange={permissions['can-update']}
            search={search}
            onSearch={onSearch}
            empty={
              <EmptyState icon={VariableIcon} title="No variables in this set">
                <p>
                  {permissions['can-update']
                    ? 'Add one, or import a .tfvars or .env file.'
                    : 'Or none that you can see: they are shown to users who manage the set or see a workspace to which it applies.'}
                </p>
              </EmptyState>
            }
          />
        )}
        {open === 'workspaces' && <SetWorkspaces {...{ organization, shown, search, onSearch }} />}
        {open === 'settings' && <SetSettings organization={organization} set={set} />}
      </div>
    </Page>
  )
}
