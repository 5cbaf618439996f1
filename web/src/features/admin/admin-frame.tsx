import { NotFoundPage } from '../../components/feedback.tsx'
import { TitleScope } from '../../components/page.tsx'
import { SectionLayout } from '../../components/section-layout.tsx'
import { useSession } from '../session/session.ts'
import { ADMIN_SECTIONS } from './admin-sections.ts'

/** Layout of the site administration, which does not exist for others. */
export function AdminFrame() {
  const { data: account } = useSession()
  if (!account?.attributes['is-site-admin']) return <NotFoundPage />
  return (
    <TitleScope value="Administration">
      <SectionLayout label="Administration" sections={ADMIN_SECTIONS} />
    </TitleScope>
  )
}
