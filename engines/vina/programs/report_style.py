"""The style sheet of the docking report: light, dark and printed. Colours are Okabe and Ito's, told apart by everybody."""

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1f26;--soft:#5a6572;--rule:#d9dee4;--wash:#f4f6f8;--blue:#0072b2;--sky:#9cc7e3;
--vermilion:#b84a00;--green:#00745a;--atom-n:#0a62b0;--atom-o:#b84a00;--atom-s:#7a6200;--atom-x:#00745a;--atom-p:#8a4b78;
--serif:"Iowan Old Style","Palatino Linotype",Palatino,"Book Antiqua","URW Palladio L",Georgia,"Times New Roman",serif;
--sans:-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","DejaVu Sans",Arial,sans-serif}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e6eaee;--soft:#9aa6b2;--rule:#2c343d;--wash:#1a2027;--blue:#5ab0e6;
  --sky:#2f6a92;
--vermilion:#ff9a5c;--green:#4fcfa4;--atom-n:#74b8ff;--atom-o:#ff9a5c;--atom-s:#e3c04f;--atom-x:#4fcfa4;--atom-p:#dca3cb}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 var(--sans)}
main{max-width:1120px;margin:0 auto;padding:48px 32px 64px}
.kicker{margin:0;color:var(--soft);font-size:12px;letter-spacing:.12em;text-transform:uppercase}
h1{margin:6px 0 8px;font:600 36px/1.15 var(--serif);letter-spacing:-.01em;overflow-wrap:anywhere}
h2{margin:52px 0 4px;font:600 23px/1.25 var(--serif)}
h3{margin:0 0 6px;font:600 15px/1.3 var(--sans)}
p{margin:8px 0;max-width:76ch;overflow-wrap:anywhere;text-wrap:pretty}
.lead{color:var(--soft);font:17px/1.5 var(--serif);max-width:70ch}
.note{color:var(--soft);font-size:13px}
a{color:var(--blue)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:0;margin:30px 0 0;border-top:2px solid var(--ink);
  border-bottom:1px solid var(--rule)}
.tiles div{padding:14px 16px 16px 0}
.tiles dt{color:var(--soft);font-size:12.5px}
.tiles dd{margin:2px 0 0;font:600 27px/1.2 var(--serif);font-variant-numeric:tabular-nums lining-nums}
.tiles dd small{display:block;font:400 13px/1.4 var(--sans);color:var(--soft);overflow-wrap:anywhere}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:8px 40px;margin-top:14px}
dl.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 16px;margin:0;font-size:13.5px}
dl.facts dt{color:var(--soft)}
dl.facts dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin-top:12px;font-size:13.5px}
caption{caption-side:top;text-align:left;color:var(--soft);font-size:13px;padding:0 0 8px;max-width:76ch}
thead th{padding:6px 10px;border-bottom:1.5px solid var(--ink);color:var(--soft);font-weight:600;font-size:12px;text-align:left;
  vertical-align:bottom}
tbody td,tbody th{padding:8px 10px;border-bottom:1px solid var(--rule);vertical-align:middle;text-align:left;font-weight:400}
tr>:first-child{padding-left:0}
.num,thead th.num{text-align:right;font-variant-numeric:tabular-nums lining-nums;white-space:nowrap}
.hits .place{width:40px;color:var(--soft)}
.hits .drawing{width:212px;padding:4px 6px}
.hits .name{width:176px;min-width:130px;overflow-wrap:anywhere}
.hits .name strong{display:block;font-weight:600}
.hits .checks{min-width:112px}
.hits .contacts{min-width:220px;font-size:12.5px;line-height:1.5}
.contacts p{margin:0 0 2px;text-wrap:wrap}
.contacts b{font-weight:600;white-space:nowrap}
.contacts p span{white-space:nowrap}
.remark{margin:5px 0 0;padding-left:8px;border-left:2px solid var(--rule);font-size:12px;line-height:1.4;color:var(--soft)}
.score{font-weight:600}
.good{color:var(--green);font-weight:600;white-space:nowrap}
.bad{color:var(--vermilion);font-weight:600}
.soft{color:var(--soft)}
.heat{width:auto}
.heat thead th{text-align:center;padding:6px 8px;line-height:1.25}
.heat thead th:first-child{text-align:left}
.heat tbody th{white-space:nowrap;padding:5px 18px 5px 0}
.heat tbody td{text-align:center;min-width:76px;padding:5px 8px;border:2px solid var(--paper);font-variant-numeric:tabular-nums}
.heat tbody td.none{color:var(--soft);opacity:.5}
.digests{margin-top:14px}
.digests dd{font:12px/1.7 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
figure{margin:14px 0 0}
.picture img{display:block;width:100%;height:auto;background:#fff;border:1px solid var(--rule);border-radius:6px}
.picture figcaption{margin-top:8px;max-width:90ch}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,420px));gap:8px 28px}
.key{display:inline-block;width:18px;height:3px;margin:0 5px 3px 0;vertical-align:middle;border-radius:2px}
svg.chart{display:block;width:100%;height:auto;font:12px var(--sans);fill:var(--soft)}
.chart .bar{fill:var(--sky)}
.chart .grid{stroke:var(--rule);stroke-width:1}
.chart .axis{stroke:var(--soft);stroke-width:1}
.chart .mark{stroke:var(--ink);stroke-width:1.4}
.chart .mark.dash{stroke-dasharray:5 3}
.chart .mark.dot{stroke-dasharray:1.5 3;stroke-linecap:round;stroke-width:2}
.chart .say{fill:var(--ink)}
svg.mol{display:block;width:200px;height:140px}
.mol .b{fill:none;stroke-width:1.4px;stroke-linecap:round}
.mol .k{stroke:var(--ink);color:var(--ink)}.mol .n{stroke:var(--atom-n);color:var(--atom-n)}.mol .o{stroke:var(--atom-o);
  color:var(--atom-o)}
.mol .s{stroke:var(--atom-s);color:var(--atom-s)}.mol .x{stroke:var(--atom-x);color:var(--atom-x)}.mol .p{stroke:var(--atom-p);
  color:var(--atom-p)}
.mol .f{fill:currentColor;stroke:none}
.paper{border-left:3px solid var(--blue);padding:4px 0 4px 18px;font:15.5px/1.6 var(--serif);max-width:76ch}
ol.references{padding-left:22px;font-size:13.5px;max-width:90ch}
ol.references li{margin:4px 0;overflow-wrap:anywhere}
@media (max-width:700px){main{padding:28px 16px 40px}h1{font-size:28px}}
@media print{
:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--rule:#ccc;--wash:#fff;--blue:#005b8f;--sky:#9cc7e3;
  --vermilion:#a04000;--green:#00614b;
--atom-n:#0a62b0;--atom-o:#a04000;--atom-s:#6b5600;--atom-x:#00614b;--atom-p:#7a3f69}
@page{size:A4;margin:14mm 13mm}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
body{font-size:10.5px}main{max-width:none;padding:0}h1{font-size:25px}h2{margin-top:24px;font-size:17px;break-after:avoid}
h3{font-size:11px}.lead{font-size:12.5px}.note,caption,dl.facts,ol.references,.digests dd{font-size:9.5px}.paper{font-size:11px}
.columns{grid-template-columns:repeat(3,1fr);gap:6px 22px}table{font-size:9.5px}thead th{font-size:8.5px}
thead th,tbody td,tbody th{padding:4px 6px}.hits .place{width:20px}.hits .name{width:96px;min-width:80px}
.hits .checks{min-width:74px}
.hits .contacts{min-width:150px}.heat tbody td{min-width:46px}thead{display:table-header-group}tr,figure,.tiles{break-inside:avoid}
.hits .drawing{width:140px}svg.mol{width:132px;height:92px}.hits .contacts,.remark{font-size:9px}
.tiles{grid-template-columns:repeat(4,1fr)}.tiles dd{font-size:19px}.tiles dd small{font-size:10px}
.scroll{overflow:visible}a{color:inherit;text-decoration:none}}
"""
