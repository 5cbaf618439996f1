import { getRouteApi } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { useSession } from '../session/session.ts'
import { cliHost, firstCommands } from '../workspaces/connect-cli.tsx'
import { TokensCard } from './tokens-card.tsx'

const route = getRouteApi('/frame/app/settings/tokens')

export function TokensPage() {
  const { page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const { data: user } = useSession()
  // The frame shows pages only to signed-in users.
  if (!user) return null
  const host = cliHost(document.baseURI)
  return (
    <Page title="API tokens" actions={<CopyCurl path={`/users/${user.id}/authentication-tokens`} />}>
      <TokensCard
        owner={{ kind: 'user', id: user.id, name: user.attributes.username }}
        mayManage
        paging={{ page, onPage: (to) => void navigate({ search: { page: to } }) }}
        empty={
          <EmptyState icon={KeyRound} title="No tokens yet">
            <p>{host.hasLogin ? 'The CLI creates one on login:' : 'Create one above. To use it with the CLI:'}</p>
            <CodeBlock label="the commands" code={firstCommands(host)} />
          </EmptyState>
        }
      />
    </Page>
  )
}
