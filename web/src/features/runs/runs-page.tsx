import { getRouteApi, Link } from '@tanstack/react-router'
import { Page } from '../../components/page.tsx'
import { RunsList } from './runs-list.tsx'

const route = getRouteApi('/frame/app/$organization/runs')

/** All runs of an organization, the newest first. */
export function RunsPage() {
  const { organization } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <Page title="Runs" documentTitle={`Runs · ${organization}`}>
      <RunsList
        scope={{ organization }}
        search={search}
        onSearch={(change, { isTyping = false } = {}) =>
          void navigate({ search: (before) => ({ ...before, ...change }), replace: isTyping })
        }
      >
        <p>
          A run plans one configuration, and usually applies the plan. It comes from the command line, from this
          application, from the API, or from a run trigger.
        </p>
        <p>
          <Link
            to="/app/$organization/workspaces"
            params={{ organization }}
            className="font-medium text-accent underline"
          >
            Open a workspace
          </Link>{' '}
          to start one.
        </p>
      </RunsList>
    </Page>
  )
}
