import './styles.css'
import '../shared/markdown-install.ts'
import { StrictMode, useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { PortalClient } from '../shared/portal/client.ts'
import { PortalChat } from '../shared/portal/PortalChat.tsx'
import { whenIdle } from '../shared/ui/idle.ts'

// /p/{slug}#c={conversation}&token={of a named visitor}
const slug = decodeURIComponent(location.pathname.split('/')[2] ?? '')

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1))
}

function Page() {
  const [token] = useState(() => fragment().get('token') ?? undefined)
  const client = useMemo(() => new PortalClient({ origin: '', slug, token }), [token])
  const go = (id: string | undefined) => {
    // The token is not kept in the address.
    history.replaceState(null, '', id ? `#c=${id}` : location.pathname + location.search)
  }
  return (
    <main>
      <PortalChat
        client={client}
        conversation={fragment().get('c') ?? undefined}
        onConversation={go}
        onTitle={setTitle}
      />
    </main>
  )
}

function setTitle(title: string) {
  document.title = title
}

const root = document.getElementById('root')
if (!root) throw new Error('no element to draw into')
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)

// Colours for code come after the page.
whenIdle(() => void import('../shared/highlight.ts'))
