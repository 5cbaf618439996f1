import { Link, getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { Card } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import type { Column } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { TokenTable } from './token-table.tsx'
import { TokensCard } from './tokens-card.tsx'
import { type TokenRow, useTeamTokens } from './tokens.ts'

const route = getRouteApi('/frame/app/$organization/settings/tokens')
const LINK = 'text-accent underline'

export function OrganizationTokensPage() {
  const { organization } = route.useParams()
  const permissions = useOrganizationPermissions(organization)
  return (
    <Page
      title="Tokens"
      about="For programs that act in this organization without a user account."
      actions={<CopyCurl path={`/organizations/${organization}/team-tokens`} />}
    >
      <div className="grid gap-4">
        {permissions && (
          <TokensCard
            owner={{ kind: 'organization', id: organization, name: organization }}
            mayManage={permissions['can-update-api-token']}
          />
        )}
        <TeamTokens organization={organization} />
        <Card title="Other tokens">
          <ul className="list-disc space-y-1 pl-5">
            <li>
              Agents:{' '}
              <TargetLink leadsTo={{ to: '/app/$organization/agents', params: { organization } }} className={LINK}>
                on the page of their pool
              </TargetLink>
            </li>
            <li>
              Your own:{' '}
              <Link to="/app/settings/tokens" className={LINK}>
                API tokens
              </Link>
              . Whether those of members work here is set under{' '}
              <TargetLink
                leadsTo={{ to: '/app/$organization/settings/sign-in', params: { organization } }}
                className={LINK}
              >
                Sign-in
              </TargetLink>
              .
            </li>
          </ul>
        </Card>
      </div>
    </Page>
  )
}

function TeamTokens({ organization }: { organization: string }) {
  const { q, page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, fallback } = loaded(useTeamTokens(organization, { q, page }))
  const team = useMemo<Column<TokenRow>>(
    () => ({
      header: 'Team',
      cell: ({ team: owner }) =>
        owner && (
          <TargetLink
            leadsTo={{ to: '/app/$organization/teams/$team', params: { organization, team: owner.id } }}
            className={LINK}
          >
            {owner.name}
          </TargetLink>
        ),
    }),
    [organization],
  )
  return (
    <Card
      title="Team tokens"
      about={
        <>
          Tokens of the teams whose tokens you may manage. Create one on the page of{' '}
          <TargetLink leadsTo={{ to: '/app/$organization/teams', params: { organization } }} className={LINK}>
            its team
          </TargetLink>
          .
        </>
      }
    >
      <div className="space-y-3">
        <SearchField
          label="Search team tokens"
          placeholder="Team or description"
          value={q ?? ''}
          onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
        />
        {!data && fallback}
        {data?.rows.length === 0 && (
          <p className="text-dim">{q === undefined ? 'No team tokens yet.' : `No team token matches “${q}”.`}</p>
        )}
        {data && data.rows.length > 0 && (
          <div>
            <TokenTable label="Team tokens" rows={data.rows} team={team} />
            <Pager
              pagination={data.pagination}
              onPage={(to) => void navigate({ search: (search) => ({ ...search, page: to }) })}
            />
          </div>
        )}
      </div>
    </Card>
  )
}
