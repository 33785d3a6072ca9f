/// The style of a page: light or dark as the reader's system, readable on a phone and on paper.
enum ReportStyle {
    /// Scripts, fonts and external resources are forbidden, not only absent.
    static let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

    /// The style sheet, without `<`, `&` and quotes: browsers read the text of a style element literally, XML does not.
    static let css = """
        :root{color-scheme:light dark;--page:#f7f7f5;--card:#fff;--ink:#1d2024;--soft:#646b73;--line:#dfe1e4;--band:#f1f3f5;
        --blue:#2468c9;--blue-soft:#dbe7f8;--green:#1f7a46;--green-soft:#dcefe3;--red:#b3261e;--red-soft:#f9dedc;
        --amber:#8a5a00;--amber-soft:#fbeccb;--violet:#6a4bb5;--teal:#13757a;--gray:#8a9099;--orange:#b5561b}
        @media (prefers-color-scheme:dark){:root{--page:#15171a;--card:#1d2024;--ink:#e7e9ec;--soft:#9aa2ab;--line:#343940;
        --band:#24282d;--blue:#7fb0ff;--blue-soft:#1f3352;--green:#6fcf97;--green-soft:#1c3a29;--red:#ff8a80;
        --red-soft:#4a211e;--amber:#f0c060;--amber-soft:#43340f;--violet:#b39ddb;--teal:#5fc4c9;--gray:#8a9099;
        --orange:#f0a070}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--page);color:var(--ink);
        font:15px/1.5 system-ui,-apple-system,Segoe UI,Roboto,DejaVu Sans,sans-serif;-webkit-text-size-adjust:100%}
        main{max-width:1060px;margin:0 auto;padding:24px 16px 48px}
        h1{font-size:22px;line-height:1.3;margin:0 0 4px;overflow-wrap:anywhere}
        h2{font-size:17px;margin:32px 0 8px}
        h3{font-size:15px;margin:16px 0 6px;overflow-wrap:anywhere}
        p{margin:4px 0 8px;overflow-wrap:anywhere}
        .soft{color:var(--soft)}
        .verdict{display:inline-block;border-radius:999px;padding:2px 12px;font-weight:600;margin-bottom:10px}
        .good{background:var(--green-soft);color:var(--green)}.bad{background:var(--red-soft);color:var(--red)}
        .warn{background:var(--amber-soft);color:var(--amber)}
        .card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;margin:8px 0}
        .card>:last-child{margin-bottom:0}.card.failure{border-color:var(--red)}
        .figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:8px;margin:12px 0}
        .figure{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 14px}
        .figure b{display:block;font-size:20px;line-height:1.25;font-variant-numeric:tabular-nums}
        .figure span{color:var(--soft);font-size:13px}
        .scroll{overflow-x:auto;-webkit-overflow-scrolling:touch;background:var(--card);border:1px solid var(--line);
        border-radius:10px;margin:8px 0}
        .picture{max-height:82vh;overflow:auto;padding:12px}
        table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
        th,td{text-align:left;padding:6px 12px;border-bottom:1px solid var(--line);vertical-align:top}
        th{font-size:13px;font-weight:600;color:var(--soft);white-space:nowrap}
        td{max-width:420px;overflow-wrap:break-word}
        .n{text-align:right;white-space:nowrap}
        tbody tr:last-child td{border-bottom:0}
        tfoot td{border-top:2px solid var(--line);border-bottom:0;font-weight:600}
        dl{display:grid;grid-template-columns:minmax(90px,160px) 1fr;gap:4px 12px;margin:0}
        dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere;min-width:0}
        ul{margin:4px 0;padding-left:20px}li{overflow-wrap:anywhere;margin:3px 0}
        pre{margin:0;padding:12px 14px;font:13px/1.5 ui-monospace,SF Mono,Menlo,DejaVu Sans Mono,monospace;
        white-space:pre-wrap;overflow-wrap:anywhere}
        svg{display:block}svg text{font:13px system-ui,-apple-system,Segoe UI,Roboto,DejaVu Sans,sans-serif;
        fill:var(--ink)}
        svg .soft{fill:var(--soft);font-size:12px}svg .strong{font-weight:600}
        .chart{padding:12px 14px 10px}
        .chart header{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 16px;font-size:13px}
        .chart header b{font-weight:600}
        .plot{position:relative;height:120px;margin:6px 0 2px;border-bottom:1px solid var(--line)}
        .plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
        .plot .mark{position:absolute;right:0;font-size:12px;line-height:14px;background:var(--card);padding:0 4px;
        transform:translateY(-50%)}
        .axis{display:flex;justify-content:space-between;font-size:12px;color:var(--soft)}
        .stages{padding:10px 14px}
        .stage{display:grid;grid-template-columns:minmax(110px,34%) 1fr 68px;gap:8px;align-items:center;font-size:13px;
        padding:2px 0}
        .stage>span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
        .stage .n{color:var(--soft)}
        .track{position:relative;height:14px;background:var(--band);border-radius:3px;overflow:hidden}
        .track i{position:absolute;top:0;bottom:0;min-width:2px;border-radius:2px}
        .opening,.publish,.verify{background:var(--gray)}.keys{background:var(--violet)}.create{background:var(--blue)}
        .relate{background:var(--teal)}.validate{background:var(--amber)}.load{background:var(--green)}
        .indexes{background:var(--orange)}
        @media (max-width:560px){main{padding:16px 12px 32px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}
        .figures{grid-template-columns:1fr 1fr}.figure b{font-size:17px}.stage{grid-template-columns:38% 1fr 60px}
        .stage>span{white-space:normal;overflow-wrap:anywhere}
        th,td{padding:6px 9px}}
        @media print{.picture{max-height:none}.card,.scroll,.figure{break-inside:avoid}}

        """
}
