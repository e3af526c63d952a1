"""The style sheet of the report on a simulation: light, dark and printed. Figures keep their white ground in all of them."""

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1f26;--soft:#5a6572;--rule:#d9dee4;--wash:#f4f6f8;--blue:#0072b2;
  --vermilion:#b84a00;--green:#00745a;
--amber:#7a6200;
--serif:"Iowan Old Style","Palatino Linotype",Palatino,"Book Antiqua","URW Palladio L",Georgia,"Times New Roman",serif;
--sans:-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","DejaVu Sans",Arial,sans-serif}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e6eaee;--soft:#9aa6b2;--rule:#2c343d;--wash:#1a2027;--blue:#5ab0e6;
  --vermilion:#ff9a5c;
--green:#4fcfa4;--amber:#e3c04f}}
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
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));margin:30px 0 0;border-top:2px solid var(--ink);
  border-bottom:1px solid var(--rule)}
.tiles div{padding:14px 16px 16px 0}
.tiles dt{color:var(--soft);font-size:12.5px}
.tiles dd{margin:2px 0 0;font:600 27px/1.2 var(--serif);font-variant-numeric:tabular-nums lining-nums}
.tiles dd small{display:block;font:400 13px/1.4 var(--sans);color:var(--soft);overflow-wrap:anywhere}
.verdict{border-left:4px solid var(--soft);padding:2px 0 2px 18px;margin-top:14px}
.verdict strong{font:600 19px/1.35 var(--serif)}
.verdict ul{margin:8px 0 0;padding-left:18px;max-width:80ch}
.verdict li{margin:3px 0}
.settled{color:var(--green)}.drifting{color:var(--vermilion)}.undecided,.too-short{color:var(--amber)}.constant{color:var(--soft)}
.verdict.settled{border-color:var(--green)}.verdict.drifting{border-color:var(--vermilion)}
.verdict.undecided,.verdict.too-short{border-color:var(--amber)}
.verdict ul,.verdict p{color:var(--ink)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:26px 30px;margin-top:16px;align-items:start}
figure{margin:0;break-inside:avoid}
figure img{display:block;width:100%;height:auto;background:#fff;border-radius:3px;padding:4px}
figcaption{margin-top:6px;color:var(--soft);font-size:13px;max-width:70ch}
figcaption b{color:var(--ink)}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:8px 40px;margin-top:14px}
dl.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 16px;margin:0;font-size:13.5px}
dl.facts dt{color:var(--soft)}
dl.facts dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin-top:12px;font-size:13.5px}
caption{caption-side:top;text-align:left;color:var(--soft);font-size:13px;padding:0 0 8px;max-width:84ch}
thead th{padding:6px 10px;border-bottom:1.5px solid var(--ink);color:var(--soft);font-weight:600;font-size:12px;text-align:left;
  vertical-align:bottom}
tbody td,tbody th{padding:7px 10px;border-bottom:1px solid var(--rule);text-align:left;font-weight:400}
tbody th{font-weight:600}
tr>:first-child{padding-left:0}
.num,thead th.num{text-align:right;font-variant-numeric:tabular-nums lining-nums;white-space:nowrap}
.soft{color:var(--soft)}
ol.references{padding-left:22px;font-size:13.5px;max-width:90ch}
ol.references li{margin:4px 0;overflow-wrap:anywhere}
@media (max-width:700px){main{padding:28px 16px 40px}h1{font-size:28px}.figures{grid-template-columns:1fr}}
@media print{
:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--rule:#ccc;--wash:#fff;--blue:#005b8f;--vermilion:#a04000;
  --green:#00614b;--amber:#6b5600}
@page{size:A4;margin:14mm 13mm}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
body{font-size:10.5px}main{max-width:none;padding:0}h1{font-size:25px}h2{margin-top:24px;font-size:17px;break-after:avoid}
.lead{font-size:12.5px}.note,caption,figcaption,dl.facts,ol.references{font-size:9.5px}table{font-size:9.5px}
thead th{font-size:8.5px}
.figures{grid-template-columns:repeat(2,1fr);gap:12px 16px}.columns{grid-template-columns:repeat(3,1fr);gap:6px 22px}
.tiles{grid-template-columns:repeat(4,1fr)}.tiles dd{font-size:19px}.tiles dd small{font-size:10px}.verdict strong{font-size:14px}
thead{display:table-header-group}tr,.tiles{break-inside:avoid}.scroll{overflow:visible}a{color:inherit;text-decoration:none}}
"""
